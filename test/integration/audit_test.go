package integration

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kube8/kube8-operator/test/audit"
	"github.com/kube8/kube8-operator/test/privilege"
)

// auditPolicy records each request of a ServiceAccount twice. When it arrives, before it is answered, so that whoever has
// seen the effect of a request finds it recorded; and when it was answered, which says whether it was refused.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [ResponseStarted, Panic]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`

// refusals are those that the operator gets to see because a test wants it so.
var refusals = []privilege.Refusal{
	{Message: "because it is being terminated", Test: "TestChaosANamespaceIsDeletedUnderTheOperator"},
	// For half a minute, an API server that was started again does not know the kinds of CRDs when it admits owners.
	{Message: "cannot find RESTMapping for APIVersion kube8.dev/v1alpha1", Test: "TestChaosTheAPIServerRestartsInTheMiddle"},
	{Message: "create not allowed while custom resource definition is terminating", Test: "TestACollectorFollowsWhatTheClusterOffers"},
	{Message: "exceeded quota: limit, requested: count/secrets=1", Test: "TestAQuotaOnSecretsRefusesTheChangeAndNothingChanges"},
	{Message: "exceeded quota: limit, requested: count/deployments.apps=1", Test: "TestADeploymentWhoseCreationIsRefusedAtFirstComesBackWithAsManyPods"},
	{Message: "exceeded quota: limit, requested: count/ingresses.networking.k8s.io=1", Test: "TestARefusalThatStaysGrowsNoClaimAndChangesNoServiceAccount"},
	{Message: "exceeded quota: limit, requested: count/services=1", Test: "TestReadySaysThatWhatServesCannotBeRepairedWhileARefusalStands"},
	{Message: "exceeded quota: limit, requested: count/statefulsets.apps=1", Test: "TestAnotherModeThatIsRefusedLeavesTheOldWorkload"},
	{Message: "exceeded quota: limit, requested: requests.storage=10Gi", Test: "TestTheStatusHasTheNumbersOfTheLastRefusal"},
	{Message: "exceeded quota: limit-", Test: "TestTheOperatorEndsAsTheModelSays"},
	{Message: "not by me", Test: "TestAWebhookThatRefusesOnlyAfterTheDryRunLeavesTheService"},
	{Message: "not in this schedule", Test: "TestTheOperatorEndsAsTheModelSays"},
	{Message: "is already managed by the hpa 'c'", Test: "TestTheOperatorEndsAsTheModelSays"},
	{Message: "the storageclass that provisions the pvc must support resize", Test: "TestClaimsThatCannotGrowAreToldAndNothingElseHappens"},
}

// request is one request of a ServiceAccount that has arrived.
type request struct{ audit.Request }

func (r request) String() string {
	return fmt.Sprintf("%s %s/%s %s/%s", r.Verb, r.ObjectRef.Resource, r.ObjectRef.Subresource, r.ObjectRef.Namespace, r.ObjectRef.Name)
}

// isElection says whether the request only keeps the operator the leader.
func (r request) isElection() bool {
	return r.ObjectRef.Namespace == systemNamespace && slices.Contains([]string{"leases", "events"}, r.ObjectRef.Resource)
}

// auditLog reads the API server's audit log as it grows.
type auditLog struct {
	mutex    sync.Mutex
	log      audit.Log
	requests []request
	answers  []audit.Request
	startups []audit.Period // in which it answers, and does not know its roles yet
}

// recordStartup tells that the API server was started after some time, and is ready.
func (a *auditLog) recordStartup(from time.Time) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.startups = append(a.startups, audit.Period{From: from, To: time.Now()})
}

// hasStartedAt says whether a request arrived while the API server started.
func (a *auditLog) hasStartedAt(r audit.Request) bool {
	return slices.ContainsFunc(a.startups, func(p audit.Period) bool { return p.Has(r) })
}

// mark is the point in the log up to which requests have arrived by now.
func (a *auditLog) mark(t *testing.T) int {
	t.Helper()
	return len(a.read(t))
}

// writes returns the write requests since a mark that touch a namespace, or any namespace for "".
func (a *auditLog) writes(t *testing.T, since int, namespace string) []string {
	t.Helper()
	found := []string{}
	for _, r := range a.read(t)[since:] {
		if r.IsWrite() && !r.isElection() && (namespace == "" || r.ObjectRef.Namespace == namespace) {
			found = append(found, r.String())
		}
	}
	return found
}

// all returns all requests since a mark that touch a namespace.
func (a *auditLog) all(t *testing.T, since int, namespace string) []string {
	t.Helper()
	found := []string{}
	for _, r := range a.read(t)[since:] {
		if r.ObjectRef.Namespace == namespace {
			found = append(found, r.String())
		}
	}
	return found
}

// read returns the requests that have arrived by now.
func (a *auditLog) read(t *testing.T) []request {
	t.Helper()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if err := a.update(); err != nil {
		t.Fatal(err)
	}
	return a.requests
}

func (a *auditLog) update() error {
	recorded, err := a.log.Next()
	for _, r := range recorded {
		if r.Stage == "RequestReceived" {
			a.requests = append(a.requests, request{r})
		} else {
			a.answers = append(a.answers, r)
		}
	}
	return err
}

// checkPrivileges compares what the operator may do with what it did in the whole run, once the API server has stopped.
// Only all tests together use every right.
func checkPrivileges(allPassed bool) error {
	if err := plane.audit.update(); err != nil {
		return err
	}
	answers := slices.DeleteFunc(privilege.OfOperators(plane.audit.answers), plane.audit.hasStartedAt)
	refused := privilege.Refused(answers, refusals...)
	// What is skipped needs no right that the rest does not use.
	if flag.Lookup("test.run").Value.String() != "" || !allPassed {
		return refused
	}
	roles, err := privilege.Roles("config/rbac")
	if err != nil {
		return err
	}
	fmt.Printf("privileges: %d answers to the operator, every one compared with the %d roles in config/rbac\n", len(answers), len(roles))
	return errors.Join(refused, privilege.Unused(roles, answers, proven...))
}
