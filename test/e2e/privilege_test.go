//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/kube8/kube8-operator/test/audit"
	"github.com/kube8/kube8-operator/test/privilege"
)

var (
	// auditLog is where the cluster of cluster-up has it, beside its kubeconfig.
	auditLog audit.Log

	// rightsLost are the times in which operators are removed: their roles can go before they do.
	rightsLost []audit.Period

	// refusals are those that the operator gets to see because a test wants it so. The last event of a Collector can come when its test
	// has begun to delete the namespace. Admission refuses events for nothing else.
	refusals = []privilege.Refusal{{Message: `events "`, Test: "all"}}
)

// losingRights begins a time in which an operator is removed, and returns what ends it.
func losingRights() (end func()) {
	from := time.Now()
	return func() { rightsLost = append(rightsLost, audit.Period{From: from, To: time.Now()}) }
}

// checkRefusals returns an error if the operator was refused something. It can tell only where there is an audit log.
func checkRefusals() error {
	requests, err := auditLog.Next()
	if errors.Is(err, os.ErrNotExist) {
		fmt.Printf("privileges: not compared, because there is no audit log at %s\n", auditLog.Path)
		return nil
	}
	if err != nil {
		return err
	}
	answers := slices.DeleteFunc(privilege.OfOperators(requests), func(r audit.Request) bool {
		return slices.ContainsFunc(rightsLost, func(p audit.Period) bool { return p.Has(r) })
	})
	if len(answers) == 0 {
		return fmt.Errorf("audit log %s has no answer to the operator", auditLog.Path)
	}
	fmt.Printf("privileges: %d answers to the operator\n", len(answers))
	return privilege.Refused(answers, refusals...)
}
