package integration

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Not parallel: it restarts the shared operator, and the base that crashes holds all other changes.
func TestABaseThatCrashesGoesBackWhereTheOwnerHasNoCanary(t *testing.T) {
	g, args := NewWithT(t), shared.args
	t.Cleanup(func() { restart(t, args) })
	base := newBase(t, "t-canary", "first", "exporters: {debug: {}}\n")
	var fleet []*v1alpha1.Collector
	for _, number := range []string{"0", "1"} {
		collector := newCollector(newNamespace(t), "gateway")
		setLabel(t, collector.Namespace, v1alpha1.RingLabel, number)
		collector.Spec.Collector.Bases = []v1alpha1.Base{named(base.Name, "")}
		collector.Spec.Mode, collector.Spec.Replicas = v1alpha1.ModeDeployment, new(int32(3))
		create(t, collector)
		serveThree(t, collector)
		awaitReady(t, collector, "True", "Available", "3/3")
		fleet = append(fleet, collector)
	}
	first, last := fleet[0], fleet[1]

	restart(t, append(slices.Clone(args), "--rollout-canary", "--rollout-budget=1"))
	for _, collector := range fleet { // the stamps that a canary needs are such a change
		prove(t, collector)
		awaitReady(t, collector, "True", "Available", "3/3")
	}

	before, deployed := templateOf(t, first), deployedRevision(t, first)
	untouched := get(t, last, "", &appsv1.Deployment{}).Generation
	writeBase(t, base, "exporters: {debug: {verbosity: none}}\n")
	awaitReady(t, first, "False", "Proving", "canary pods (1 of 3) are not there")
	g.Expect(limits(t, first)).To(Equal(canaries[v1alpha1.ModeDeployment][0]))
	canary := startPod(t, first, templateOf(t, first))
	tell(t, canary, crashes)
	awaitReady(t, first, "False", "RolledBack", "pod "+canary.Name+": CrashLoopBackOff, exit code 1")
	g.Expect(plane.client.Delete(t.Context(), canary, client.GracePeriodSeconds(0))).To(Succeed())
	g.Expect(templateOf(t, first)).To(Equal(before))
	g.Expect(limits(t, first)).To(Equal(canaries[v1alpha1.ModeDeployment][1]))
	g.Expect(deployedRevision(t, first)).To(Equal(deployed))
	g.Eventually(func() map[string]int { return events(t, first) }).Should(HaveKey(
		"Warning RolloutHeld: canary pods have failed to prove the operator's change; with 1 overdue Collectors the change goes no further, and 1 wait"))
	g.Expect(condition(t, last, v1alpha1.UpdatePending).Reason).To(Equal("Waiting"))
	g.Expect(get(t, last, "", &appsv1.Deployment{}).Generation).To(Equal(untouched))

	g.Expect(shared.kill()).To(Succeed())
	forgetLeader(t)
	g.Expect(shared.start(t.Context())).To(Succeed())
	touch(t, first)
	awaitReady(t, first, "False", "RolledBack", "pod "+canary.Name)
	g.Expect(templateOf(t, first)).To(Equal(before), "an operator that starts does not try the change again")

	writeBase(t, base, "exporters: {debug: {verbosity: basic}}\n")
	for _, collector := range fleet {
		prove(t, collector)
		awaitReady(t, collector, "True", "Available", "3/3")
	}

	g.Expect(deployedRevision(t, last)).To(Equal(3))
	change(t, last, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	awaitRevision(t, last, 4)
	g.Expect(limits(t, last)).To(Equal(canaries[v1alpha1.ModeDeployment][1]), "the owner has asked for no canary")
	g.Expect(get(t, last, "", &v1alpha1.Collector{}).Status.Canary).To(BeNil())
}

// prove has one pod of a Collector of three prove a change, and then all of them have it.
func prove(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	awaitReady(t, collector, "False", "Proving", "canary pods (1 of 3) are not there")
	revision := deployedRevision(t, collector)
	tell(t, startPod(t, collector, templateOf(t, collector)), readyFor(24*time.Hour))
	awaitRevision(t, collector, revision+1)
	serveThree(t, collector)
}
