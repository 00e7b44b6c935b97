package integration

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// The change itself costs what TestWhatACollectorCostsTheAPIServer says. The status is also written for what the canary pods show meanwhile:
// that they are not there, that they are not ready, and how long they have to be ready. It depends on the kubelet how many of these are seen.
func TestAProvenChangeCostsOneWriteOfTheWorkloadTwoEventsAndUpToThreeOfTheStatusMore(t *testing.T) {
	t.Parallel()
	const ofStatus, moreOfStatus = "patch collectors/status", 3
	isOfStatus := func(request string) bool { return request == ofStatus }
	plain := []string{"patch secrets", "patch deployments", "create secrets", "patch secrets", "create events"}
	costs := func(collector *v1alpha1.Collector, prove func(), want []string) int {
		t.Helper()
		since := plane.audit.mark(t)
		reconfigure(t, collector, otherConfig)
		prove()
		awaitRevision(t, collector, 2)
		slices.Sort(want)
		NewWithT(t).Eventually(func() string {
			return cmp.Diff(want, slices.DeleteFunc(requestsAbout(t, since, collector.Namespace), isOfStatus))
		}).Should(BeEmpty(), "requests without those of the status (-want +got)")
		return len(requestsAbout(t, since, collector.Namespace))
	}
	without := install(t, func(c *v1alpha1.Collector) { c.Spec.Mode, c.Spec.Replicas = v1alpha1.ModeDeployment, new(int32(3)) })
	serveThree(t, without)
	awaitReady(t, without, "True", "Available", "3/3")
	less := costs(without, func() {}, slices.Clone(plain))

	collector := withCanary(t, v1alpha1.ModeDeployment, v1alpha1.Canary{Hold: "3s"})
	more := costs(collector, func() {
		NewWithT(t).Eventually(func() map[string]any { return limits(t, collector) }).Should(Equal(canaries[v1alpha1.ModeDeployment][0]))
		tell(t, startPod(t, collector, templateOf(t, collector)), readyFor(0))
	}, append(slices.Clone(plain), "patch deployments", "create events", "create events"))
	t.Logf("requests of a change: %d without a canary, %d with one that proves it, which are %d more: 1 of the workload, 2 events, %d of the status",
		less, more, more-less, more-less-3)
	NewWithT(t).Expect(more-less).To(BeNumerically("<=", 3+moreOfStatus), ofStatus)
}
