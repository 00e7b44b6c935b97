// Package privilege compares what the operator may do, by the roles that are shipped, with what it did, by the API
// server's audit log: a right that nothing uses is one too many, and a refusal shows one too few.
package privilege

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kube8/kube8-operator/test/audit"
)

// account is the name of the operator's ServiceAccount, in any namespace.
const account = "kube8-operator-controller-manager"

// Use is a right that was used. A role that names neither objects nor a namespace grants it everywhere.
type Use struct{ Verb, Group, Resource string }

// Refusal is an answer 403 to a request that the roles allow: a test has something else in the cluster refuse it.
type Refusal struct{ Message, Test string }

// OfOperators returns what was answered to operators in any namespace.
func OfOperators(requests []audit.Request) []audit.Request {
	return slices.DeleteFunc(slices.Clone(requests), func(r audit.Request) bool {
		return r.Stage != "ResponseComplete" || namespaceOf(r) == ""
	})
}

// namespaceOf returns the namespace of the operator that made a request, or "".
func namespaceOf(r audit.Request) string {
	namespace, name, _ := strings.Cut(strings.TrimPrefix(r.User.Username, "system:serviceaccount:"), ":")
	if name != account {
		return ""
	}
	return namespace
}

// Refused returns an error that names each request that was answered 403, but for those that tests have refused.
func Refused(requests []audit.Request, expected ...Refusal) error {
	counts := map[string]int{}
	for _, r := range requests {
		isExpected := func(e Refusal) bool { return strings.Contains(r.ResponseStatus.Message, e.Message) }
		forbidden := r.Annotations["authorization.k8s.io/decision"] == "forbid" // by the roles: no test may expect that
		if forbidden || r.ResponseStatus.Code == 403 && !slices.ContainsFunc(expected, isExpected) {
			counts[fmt.Sprintf("%s %s in namespace %q: %s", r.Verb, cmp.Or(r.Resource(), r.RequestURI), r.ObjectRef.Namespace,
				r.ResponseStatus.Message)]++
		}
	}
	if len(counts) == 0 {
		return nil
	}
	var lines []string
	for what, count := range counts {
		lines = append(lines, fmt.Sprintf("%s (%d times)", what, count))
	}
	slices.Sort(lines)
	return fmt.Errorf("the operator was refused; config/rbac lacks a rule, or what refuses is missing from the test's list:\n%s",
		strings.Join(lines, "\n"))
}

// Unused returns an error that names each right of the roles that no request used. others are rights that are used
// without a request of the operator's own.
func Unused(roles []Role, requests []audit.Request, others ...Use) error {
	var lines []string
	for _, role := range roles {
		for _, right := range role.rights() {
			if !slices.Contains(others, right.Use) && !slices.ContainsFunc(requests, right.isUsedBy) {
				lines = append(lines, right.String())
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("the operator may do what it never did; remove it or add the test that needs it:\n%s", strings.Join(lines, "\n"))
}
