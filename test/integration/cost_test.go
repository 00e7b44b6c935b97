package integration

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// TestWhatACollectorCostsTheAPIServer counts requests, which are the same each time. A change that adds one has a reason
// to give; docs/explanation/performance.md says what they sum up to. Beside them a Collector has its share of what is asked for all.
func TestWhatACollectorCostsTheAPIServer(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	keepsThree(collector)
	collector.Spec.PodDisruptionBudget = &v1alpha1.PodDisruptionBudget{Enabled: true}
	collector.Spec.NetworkPolicy = &v1alpha1.NetworkPolicy{Enabled: true}
	steps := []struct {
		name string
		do   func()
		want []string
	}{
		{"to be installed", func() { create(t, collector) }, []string{
			"patch collectors", // the finalizer
			"patch deployments", "patch networkpolicies", "patch poddisruptionbudgets",
			"patch secrets", "patch serviceaccounts", "patch services",
			"create secrets", // the record
			"patch collectors/status", "create events",
		}},
		{"for a reconcile that a label brings", func() { touch(t, collector) }, nil},
		{"for another configuration", func() {
			upgrade(t, collector, func(c *v1alpha1.Collector) {
				c.Spec.Collector.Configuration = append([]byte("# another\n"), c.Spec.Collector.Configuration...)
			})
		}, []string{
			"patch secrets", "patch deployments",
			"patch secrets",  // the revision before is superseded
			"create secrets", // the record
			"patch collectors/status", "create events",
		}},
		{"for the third one", func() { configure(t, collector, "third: {}") }, []string{
			"patch secrets", "patch deployments", "create secrets", "patch secrets", "patch collectors/status", "create events",
		}},
		{"for each further one", func() { configure(t, collector, "fourth: {}") }, []string{
			"patch secrets", "patch deployments", "create secrets", "patch secrets", "patch collectors/status", "create events",
			"delete secrets", // the oldest record
			"delete secrets", // the oldest configuration
		}},
		{"to go", func() { remove(t, collector) }, []string{
			"delete deployments", "delete networkpolicies", "delete poddisruptionbudgets",
			"delete secrets", "delete serviceaccounts", "delete services",
			"delete secrets", "delete secrets", // configurations of before
			"delete secrets", "delete secrets", "delete secrets", // three revisions
			"create events", "patch collectors",
		}},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			if step.name != "to be installed" {
				becomeReady(t, collector)
			}
			since := plane.audit.mark(t)
			step.do()
			expectRequests(t, since, collector.Namespace, step.want)
		})
	}
}

// expectRequests expects requests about a namespace since a mark. The last one may be an event, for which nobody waits.
func expectRequests(t *testing.T, since int, namespace string, want []string) {
	t.Helper()
	slices.Sort(want)
	differs := func() string { return cmp.Diff(want, requestsAbout(t, since, namespace)) }
	NewWithT(t).Eventually(differs).Should(BeEmpty(), "requests (-want +got)")
}

// requestsAbout returns the requests about a namespace since a mark, sorted.
func requestsAbout(t *testing.T, since int, namespace string) (got []string) {
	t.Helper()
	for _, r := range plane.audit.read(t)[since:] {
		if r.ObjectRef.Namespace == namespace {
			got = append(got, strings.TrimSuffix(r.Verb+" "+r.ObjectRef.Resource+"/"+r.ObjectRef.Subresource, "/"))
		}
	}
	slices.Sort(got)
	// The status is written once more where the cache is behind.
	if i := slices.Index(got, "patch collectors/status"); i >= 0 && i+1 < len(got) && got[i+1] == got[i] {
		got = slices.Delete(got, i, i+1)
	}
	return got
}

// Not parallel: it restarts the shared operator.
func TestTheFirstChangeAfterARestartCostsAsMuchAsAnyOther(t *testing.T) {
	collector := install(t, keepsThree)
	configure(t, collector, "second: {}")
	for _, text := range []string{"third: {}", "fourth: {}", "fifth: {}"} {
		becomeReady(t, collector)
		nextOperator(t, collector, func() {})
		since := plane.audit.mark(t)
		configure(t, collector, text)
		want := []string{"patch secrets", "patch deployments", "create secrets", "patch secrets", "patch collectors/status", "create events"}
		if text != "third: {}" { // the oldest record, and the oldest configuration
			want = append(want, "delete secrets", "delete secrets")
		}
		expectRequests(t, since, collector.Namespace, want)
	}
}

// Not parallel: it restarts the shared operator.
func TestADeletionAfterAChangeNeedsNoListOfRecordsAlsoAfterARestart(t *testing.T) {
	collector := install(t, keepsThree)
	becomeReady(t, collector)
	nextOperator(t, collector, func() {})
	configure(t, collector, "second: {}")
	since := plane.audit.mark(t)
	remove(t, collector)
	expectRequests(t, since, collector.Namespace, []string{
		"delete deployments", "delete secrets", "delete secrets", "delete serviceaccounts", "delete services",
		"delete secrets", "delete secrets", // two revisions
		"create events", "patch collectors",
	})
}
