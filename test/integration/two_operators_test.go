package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// The tests in this file stop the shared operator, or take the lead from it, and so are not parallel.

// startAnother starts an operator beside the shared one, or in its place, until the test ends.
func startAnother(t *testing.T, watchNamespace string, args ...string) *operator {
	t.Helper()
	another := &operator{binary: shared.binary, account: shared.account, watchNamespace: watchNamespace, args: args}
	if err := another.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := another.stop(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the log of another operator:\n%s", another.log.tail(namespacePrefix))
		}
	})
	return another
}

// startStandby starts an operator that waits for the shared one to end.
func startStandby(t *testing.T, args ...string) *operator {
	t.Helper()
	install(t) // so it leads
	return startAnother(t, "", append(args, "--leader-elect", "--leader-election-namespace="+systemNamespace)...)
}

// startSharedAgain starts the shared operator anew when the test ends.
func startSharedAgain(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if err := shared.kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		if err := shared.start(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestOneOfTwoOperatorsWaits(t *testing.T) {
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	standby := startStandby(t, "--metrics-bind-address="+address, "--metrics-secure=false")
	collector := install(t)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Replicas = new(int32(3)) })
	remove(t, collector)
	g := NewWithT(t)
	g.Expect(standby.log.about("")).NotTo(ContainSubstring("Reconciling"))
	metrics := scrapeInsecurely(t, address)
	g.Expect(metrics).To(ContainSubstring("kube8_release_actions_total{"))
	g.Expect(metrics).NotTo(ContainSubstring("kube8_collectors{"), "or the sum over all operators would be wrong")
}

func TestWhatTheLeaderWorkedOnWhenItWasKilledGoesOn(t *testing.T) {
	standby := startStandby(t)
	collector, gate := createHeld(t)
	NewWithT(t).Expect(standby.log.about("")).NotTo(ContainSubstring("Reconciling"))

	startSharedAgain(t)
	if err := shared.kill(); err != nil {
		t.Error(err)
	}
	expireLease(t)
	gate.open()
	awaitSettled(t, collector, config)
	NewWithT(t).Expect(statusesOfRevisions(t, collector)).To(Equal([]string{"1 deployed"}))
}

func TestALeaderThatHungAndWasReplacedDoesNoHarm(t *testing.T) {
	standby := startStandby(t)
	collector, gate := createHeld(t)
	startSharedAgain(t)
	g := NewWithT(t)
	g.Expect(shared.cmd.Process.Signal(syscall.SIGSTOP)).To(Succeed())
	expireLease(t)
	standby.awaitBegin(t, collector)
	gate.open()
	awaitSettled(t, collector, config)

	gate.shut()
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte("changed: {}") })
	gate.await(t)
	// It takes 10 s to notice that it does not lead any more, and works on.
	g.Expect(shared.cmd.Process.Signal(syscall.SIGCONT)).To(Succeed())
	g.Eventually(shared.ended).Should(Receive(HaveOccurred()))
	gate.open()
	awaitSettled(t, collector, "changed: {}")
}

// awaitBegin waits until the operator works on a Collector.
func (o *operator) awaitBegin(t *testing.T, collector *v1alpha1.Collector) {
	t.Helper()
	NewWithT(t).Eventually(func() string { return o.log.about(collector.Namespace) }).Should(ContainSubstring("Reconciling"))
}

// createHeld creates a Collector and a gate that holds its installation.
func createHeld(t *testing.T) (*v1alpha1.Collector, *gate) {
	t.Helper()
	collector := newCollector(newNamespace(t), "gateway")
	gate := newGate(t, collector.Namespace)
	if err := plane.client.Create(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	gate.await(t)
	NewWithT(t).Expect(deployedRevision(t, collector)).To(BeZero(), "a revision is accepted when all of it is applied")
	return collector, gate
}

// expireLease has the Lease of a leader that renews it no longer end soon, instead of in 15 s.
func expireLease(t *testing.T) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "kube8-operator"}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"leaseDurationSeconds":1}}`))
	if err := plane.client.Patch(t.Context(), lease, patch); err != nil {
		t.Fatal(err)
	}
}

// awaitSettled waits until a Collector is deployed with a configuration, says so, and nobody works on its release.
func awaitSettled(t *testing.T, collector *v1alpha1.Collector, config string) {
	t.Helper()
	awaitRevision(t, collector, 1)
	NewWithT(t).Eventually(func(g Gomega) {
		template := get(t, collector, "", &appsv1.Deployment{}).Spec.Template
		g.Expect(template.Annotations).To(HaveKeyWithValue(hashAnnotation, sha256Of(config)))
		g.Expect(string(get(t, collector, filesOf(config), &corev1.Secret{}).Data["config.yaml"])).To(Equal(config))
		statuses := statusesOfRevisions(t, collector)
		g.Expect(statuses).NotTo(ContainElement(ContainSubstring("pending")))
		g.Expect(statuses[len(statuses)-1]).To(HaveSuffix(" deployed"), "the latest of %s", statuses)
		for conditionType, want := range map[string]corev1.ConditionStatus{
			"Deployed": "True", "Irreconcilable": "False", "ReleaseFailed": "False",
		} {
			g.Expect(condition(t, collector, conditionType).Status).To(Equal(want), conditionType)
		}
	}, time.Minute).Should(Succeed(), "Collector %s", client.ObjectKeyFromObject(collector))
}

func TestTwoOperatorsWithoutLeaderElection(t *testing.T) {
	namespace := newNamespace(t)
	if err := shared.stop(); err != nil {
		t.Error(err)
	}
	startSharedAgain(t)
	both := []*operator{startAnother(t, namespace), startAnother(t, namespace)}

	t.Run("do no harm while the other is in the middle of something", func(t *testing.T) {
		gate := newGate(t, namespace)
		collector := newCollector(namespace, "gateway")
		if err := plane.client.Create(t.Context(), collector); err != nil {
			t.Fatal(err)
		}
		gate.await(t)
		gate.open()
		awaitSettled(t, collector, config)

		gate.shut()
		change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte("changed: {}") })
		gate.await(t)
		gate.open()
		awaitSettled(t, collector, "changed: {}")
	})
	t.Run("agree in the end", func(t *testing.T) {
		var fleet []*v1alpha1.Collector
		for i := range 6 {
			collector := newCollector(namespace, fmt.Sprintf("collector-%d", i))
			if err := plane.client.Create(t.Context(), collector); err != nil {
				t.Fatal(err)
			}
			fleet = append(fleet, collector)
		}
		for round := range 4 {
			for _, collector := range fleet {
				change(t, collector, func(c *v1alpha1.Collector) {
					c.Spec.Collector.Configuration = fmt.Appendf(nil, "round: %d", round)
				})
			}
		}
		for _, collector := range fleet {
			awaitSettled(t, collector, "round: 3")
		}
		g := NewWithT(t)
		g.Eventually(func() []string {
			requests := plane.audit.mark(t)
			for _, collector := range fleet {
				touchBoth(t, collector, both)
			}
			return plane.audit.writes(t, requests, namespace)
		}, time.Minute).Should(BeEmpty(), "writes of both, once all is done")
		for _, collector := range fleet {
			remove(t, collector)
		}
		remove(t, newCollector(namespace, "gateway"))
		g.Expect(names(contents(t, namespace))).To(BeEmpty())
	})
}

// touchBoth changes a Collector without changing what it asks for, and waits until both operators have looked at it.
func touchBoth(t *testing.T, collector *v1alpha1.Collector, both []*operator) {
	t.Helper()
	marks := [2]int{both[0].log.mark(), both[1].log.mark()}
	change(t, collector, func(c *v1alpha1.Collector) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, "example.com/touched", fmt.Sprint(marks))
	})
	for i, one := range both {
		one.awaitReconcile(t, marks[i], client.ObjectKeyFromObject(collector))
	}
}
