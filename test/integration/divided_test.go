package integration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/managedfields"
)

// The tests in this file stop the shared operator, and so are not parallel.

func TestOperatorsShareAFleetByNamespaces(t *testing.T) {
	g, first, second, moved := NewWithT(t), newNamespace(t), newNamespace(t), newNamespace(t)
	g.Expect(shared.stop()).To(Succeed())
	startSharedAgain(t)
	north, south := startAnother(t, first+","+moved), startAnother(t, second)
	var fleet []*v1alpha1.Collector
	for _, namespace := range []string{first, second, moved} {
		collector := newCollector(namespace, "gateway")
		g.Expect(plane.client.Create(t.Context(), collector)).To(Succeed())
		awaitRevision(t, collector, 1)
		fleet = append(fleet, collector)
	}
	moves := fleet[2]
	reconfigure(t, moves, "second: {}") // so that there is a Secret of before
	awaitRevision(t, moves, 2)
	failing := newCollector(moved, "failing")
	g.Expect(plane.client.Create(t.Context(), failing)).To(Succeed())
	awaitRevision(t, failing, 1)
	reconfigure(t, failing, "- refused")
	awaitFailed(t, failing, "not a YAML mapping")
	g.Eventually(func() []string { return told(t, failing, " Refused: ") }).ShouldNot(BeEmpty(), "its event comes after its status")
	awaitTold(t, moves)
	g.Expect(north.log.about("")).NotTo(ContainSubstring(second))
	g.Expect(south.log.about("")).NotTo(Or(ContainSubstring(first), ContainSubstring(moved)))

	// The namespace moves: first away from one operator, and then to the other.
	restart := func(operator *operator, namespaces ...string) (since int) {
		t.Helper()
		g.Expect(operator.stop()).To(Succeed())
		operator.watchNamespace, since = strings.Join(namespaces, ","), operator.log.mark()
		g.Expect(operator.start(t.Context())).To(Succeed())
		return since
	}
	requests := plane.audit.mark(t)
	left := restart(north, first)
	joined := restart(south, second, moved)
	for _, collector := range []*v1alpha1.Collector{moves, failing} {
		south.awaitReconcile(t, joined, client.ObjectKeyFromObject(collector))
	}
	g.Expect(plane.audit.writes(t, requests, moved)).To(BeEmpty(), "the objects are what the new operator wants")

	for _, collector := range []*v1alpha1.Collector{moves, failing} {
		loseService(t, collector)
	}
	reconfigure(t, moves, "third: {}")
	awaitRevision(t, moves, 3)
	reconfigure(t, failing, "mended: {}")
	awaitRevision(t, failing, 2)
	for _, collector := range []*v1alpha1.Collector{moves, failing} {
		g.Expect(plane.client.Delete(t.Context(), collector)).To(Succeed())
		awaitGone(t, collector)
		g.Expect(north.log.reconciles(left, client.ObjectKeyFromObject(collector))).To(BeEmpty(), "its namespace is another operator's")
	}
	g.Expect(names(contents(t, moved))).To(BeEmpty(), "nothing outlives them")
}

func TestTheLabelOfAnEarlierVersionIsTakenAwayOnce(t *testing.T) {
	const label = "kube8.dev/operator" // on all that was applied by an operator that shared a fleet by labels
	g, collector := NewWithT(t), install(t)
	awaitTold(t, collector)
	g.Expect(shared.stop()).To(Succeed())
	before := get(t, collector, "", &appsv1.Deployment{})
	applied, err := applyappsv1.ExtractDeployment(before, managedfields.Manager)
	g.Expect(err).NotTo(HaveOccurred())
	applied.WithLabels(map[string]string{label: "0123456789"})
	g.Expect(plane.client.Apply(t.Context(), applied, client.FieldOwner(managedfields.Manager))).To(Succeed())
	since := shared.log.mark()
	startAgain(t)
	shared.awaitReconcile(t, since, client.ObjectKeyFromObject(collector))
	var after *appsv1.Deployment
	g.Eventually(func() map[string]string {
		after = get(t, collector, "", &appsv1.Deployment{})
		return after.Labels
	}).Should(Equal(before.Labels))
	g.Expect(after.UID).To(Equal(before.UID))
	g.Expect(after.Generation).To(Equal(before.Generation), "no pod starts again")
	awaitTold(t, collector)
	requests := plane.audit.mark(t)
	touch(t, collector)
	g.Expect(plane.audit.writes(t, requests, collector.Namespace)).To(BeEmpty())
}
