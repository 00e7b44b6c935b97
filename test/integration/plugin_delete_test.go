package integration

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// Not parallel: the operator is stopped, as one that was removed before its Collectors (argoproj/argo-cd#9296,
// grafana/alloy-operator#126).
func TestThePluginSaysThatNoOperatorReconcilesADeletionAndCanFinishIt(t *testing.T) {
	g, collector := NewWithT(t), install(t)
	p := pluginIn(t, collector.Namespace)
	serve(t, collector, 1)
	awaitReady(t, collector, "True", "Available", "")
	g.Expect(shared.stop()).To(Succeed())
	t.Cleanup(func() {
		forgetLeader(t)
		if err := shared.start(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
	})
	g.Expect(plane.client.Delete(t.Context(), collector)).To(Succeed())

	g.Expect(p.run("list")).To(And(MatchRegexp(`gateway +- +Terminating`), ContainSubstring("0 of 1 ready, 1 Terminating")))
	const kept = `deleted \d+s ago, and kept by its finalizers, uninstall-helm-release`
	g.Expect(p.run("why", "gateway")).To(And(MatchRegexp(`^Collector \S+/gateway is being deleted: `+kept), Not(ContainSubstring("Available"))))
	g.Expect(p.run("status", "gateway")).To(And(
		MatchRegexp(`Ready +Terminating: `+kept), ContainSubstring("Next: Wait until it has gone.")))

	p.run("delete", "gateway", "--without-operator", "--yes")
	awaitGone(t, collector)
	owned := get(t, collector, "", &corev1.Service{})
	g.Expect(owned.OwnerReferences).To(ConsistOf(HaveField("UID", collector.UID)), "what the garbage collector deletes it by")
}

func TestThePluginLeavesADeletionToAnOperatorThatIsAtWork(t *testing.T) {
	t.Parallel()
	collector := installHeld(t)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t) // the first use compiles the plugin, so it comes before the deletion
	deleteAndAwait(t, collector)
	awaitHeld(t, collector)
	g.Expect(p.run("why", "gateway")).To(And(ContainSubstring("is being deleted: "), ContainSubstring("with finalizers "+holdFinalizer)))
	p.run("delete", "gateway", "--without-operator", "--yes")
	g.Eventually(func() map[string]int { return events(t, collector) }).Should(
		HaveKey(HavePrefix("Warning LeftBehind: ")), "the operator itself let the Collector go")
	letGo(t, collector)
}
