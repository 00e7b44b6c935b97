package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/docs"
)

// The tests in this file have the operator bring a change, by another default registry, and so are not parallel.

func ring(number string) map[string]string { return map[string]string{v1alpha1.RingLabel: number} }

func TestAChangeByTheOperatorReachesTheFleetInWaves(t *testing.T) {
	g := NewWithT(t)
	w := newWave(t, map[string]map[string]string{
		"a-first": {v1alpha1.RolloutLabel: v1alpha1.RolloutNow}, "b-held": {v1alpha1.RolloutLabel: v1alpha1.RolloutHold, v1alpha1.RingLabel: "0"},
		"c-last": nil, "d-last": nil, "e-last": ring("none"), "f-one": ring("1"), "g-one": ring("1"), "h-one": ring("1"), "i-zero": ring("0"), "j-zero": ring("0"),
	})
	w.bring(t, "mirror.example.com/", "--rollout-budget=2")
	// Without its ring, if the Collector was reconciled before the operator knew the labels of namespaces.
	g.Eventually(func() v1alpha1.Condition { return condition(t, w.fleet["c-last"], v1alpha1.UpdatePending) }).Should(And(
		HaveField("Status", corev1.ConditionTrue), HaveField("Reason", "Waiting"),
		HaveField("Message", MatchRegexp(`waits: (after all rings, )?place \d`))))
	moved := slices.DeleteFunc(slices.Sorted(maps.Keys(w.fleet)), func(name string) bool { return name == "b-held" })
	w.awaitReady(t, "mirror.example.com/", moved...)

	g.Expect(condition(t, w.fleet["b-held"], v1alpha1.UpdatePending)).To(And(
		HaveField("Status", corev1.ConditionTrue), HaveField("Reason", "LeftOut"), HaveField("Message", ContainSubstring("kube8.dev/rollout"))))
	g.Expect(condition(t, w.fleet["b-held"], "Ready").Status).To(Equal(corev1.ConditionTrue))
	w.mutex.Lock()
	order, atOnce := w.order["mirror.example.com/"], w.atOnce["mirror.example.com/"]
	w.mutex.Unlock()
	g.Expect(order).To(HaveLen(len(moved)))
	// It is admitted when it is reconciled. A look at the fleet can come before that, and admit ring 0 alone.
	g.Expect(slices.Index(order, "a-first")).To(BeNumerically("<=", 4), "with ring 1 at the latest")
	order = slices.DeleteFunc(slices.Clone(order), func(name string) bool { return name == "a-first" })
	g.Expect(order[:2]).To(ConsistOf("i-zero", "j-zero"))
	g.Expect(order[2:5]).To(ConsistOf("f-one", "g-one", "h-one"))
	g.Expect(atOnce).To(BeNumerically("<=", 3), "two, and the one that is to be first in any case")

	change(t, w.fleet["b-held"], func(c *v1alpha1.Collector) { c.Labels = nil })
	w.awaitReady(t, "mirror.example.com/", "b-held")
}

func TestAChangeByTheOperatorThatBreaksPodsHolds(t *testing.T) {
	g := NewWithT(t)
	labels := map[string]map[string]string{}
	for i := range 9 {
		labels[fmt.Sprintf("gateway-%d", i)] = ring(strconv.Itoa(i / 3))
	}
	w := newWave(t, labels)
	w.mutex.Lock()
	w.broken = "broken.example.com/"
	w.mutex.Unlock()
	// By then all have begun to wait, also on a busy machine.
	w.bring(t, w.broken, "--rollout-budget=25%", "--rollout-deadline=10s")
	for range 2 {
		g.Eventually(func() []string { return w.have(t, w.broken) }).ShouldNot(BeEmpty())
		if err := shared.kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		forgetLeader(t)
		if err := shared.start(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	g.Eventually(func() float64 { return value(t, `kube8_rollout_collectors{state="held"}`) }).Should(BeEquivalentTo(7))
	broken := w.have(t, w.broken)
	g.Expect(broken).To(HaveLen(2))
	g.Expect(value(t, `kube8_rollout_collectors{state="overdue"}`)).To(BeEquivalentTo(2))
	for _, name := range broken {
		g.Expect(labels[name]).To(HaveKeyWithValue(v1alpha1.RingLabel, "0"))
		g.Expect(condition(t, w.fleet[name], v1alpha1.UpdatePending)).To(And(
			HaveField("Status", corev1.ConditionFalse), HaveField("Reason", "RollingOut")))
		// The event says how many waited at the first look. By then the operator may not have reconciled all of them since its start.
		g.Eventually(func() map[string]int { return events(t, w.fleet[name]) }).Should(HaveKey(MatchRegexp(
			"^Warning RolloutHeld: not ready 10s after the operator's change; " +
				"with 2 overdue Collectors the change goes no further, and [1-7] wait$")))
	}

	t.Run("and an owner's change goes at once", func(t *testing.T) {
		change(t, w.fleet["gateway-8"], func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
		NewWithT(t).Eventually(func() []string { return w.have(t, w.broken) }).Should(ContainElement("gateway-8"))
	})
	t.Run("and what somebody deletes is there again at once", func(t *testing.T) {
		if err := plane.client.Delete(t.Context(), get(t, w.fleet["gateway-7"], "", &corev1.Service{})); err != nil {
			t.Fatal(err)
		}
		NewWithT(t).Eventually(func() error {
			return plane.client.Get(t.Context(), client.ObjectKeyFromObject(w.fleet["gateway-7"]), &corev1.Service{})
		}).Should(Succeed())
	})
	t.Run("and goes on for namespaces that ask for it", func(t *testing.T) {
		for name := range w.fleet {
			w.label(t, name, v1alpha1.RolloutLabel, v1alpha1.RolloutNow)
		}
		NewWithT(t).Eventually(func() []string { return w.have(t, w.broken) }).Should(HaveLen(9))
	})
	t.Run("until a version mends it", func(t *testing.T) {
		w.bring(t, "mended.example.com/", "--rollout-budget=25%")
		w.awaitReady(t, "mended.example.com/")
	})
}

func TestNoTenantHoldsTheOperatorsChangeForOthers(t *testing.T) {
	w := newWave(t, map[string]map[string]string{"other": nil})
	namespace := newNamespace(t)
	for i := range 5 {
		name := fmt.Sprintf("tenant-%d", i)
		w.mutex.Lock()
		w.fleet[name] = newCollector(namespace, name)
		w.mutex.Unlock()
		w.fleet[name].Labels = map[string]string{v1alpha1.RingLabel: "0", v1alpha1.RolloutLabel: v1alpha1.RolloutNow} // which are the platform's to set
		create(t, w.fleet[name])
	}
	w.awaitReady(t, "ghcr.io/")
	w.mutex.Lock()
	w.broken, w.stuck = "mirror.example.com/", namespace
	w.mutex.Unlock()
	w.bring(t, w.broken, "--rollout-budget=2", "--rollout-deadline=3s")
	w.awaitReady(t, w.broken, "other")
	tenants := []string{"tenant-0", "tenant-1", "tenant-2", "tenant-3", "tenant-4"}

	t.Run("nor is more of its own broken than the budget allows", func(t *testing.T) {
		g := NewWithT(t)
		g.Eventually(func() float64 { return value(t, `kube8_rollout_collectors{state="overdue"}`) }).WithTimeout(time.Minute).Should(BeEquivalentTo(2),
			"once nobody else waits, the namespace may take the whole budget, and no more")
		for _, name := range tenants {
			change(t, w.fleet[name], func(c *v1alpha1.Collector) { c.Labels = map[string]string{v1alpha1.RolloutLabel: v1alpha1.RolloutHold} })
		}
		g.Eventually(func() float64 { return value(t, `kube8_rollout_collectors{state="overdue"}`) }).Should(BeZero())
	})
}

// A status that has another hash than the record is what a version leaves that computes hashes otherwise.
func TestAnOperatorThatCannotVerifyRecordsKeepsTheBudget(t *testing.T) {
	g := NewWithT(t)
	w := newWave(t, map[string]map[string]string{"a": ring("0"), "b": nil, "c": nil, "d": nil, "lost": nil})
	g.Expect(shared.stop()).To(Succeed())
	for _, collector := range w.fleet {
		found := get(t, collector, "", &v1alpha1.Collector{})
		before, part := found.DeepCopy(), found.Status.DeployedRelease.Digest[:20]
		found.Status.DeployedRelease.Digest = part + strings.Repeat("0", 20) + strings.Repeat("-", 24)
		g.Expect(plane.client.Status().Patch(t.Context(), found, client.MergeFrom(before))).To(Succeed())
	}
	for _, secret := range revisions(t, w.fleet["d"]) { // nobody knows anything of it
		g.Expect(plane.client.Delete(t.Context(), &secret)).To(Succeed())
	}
	deleteService(t, w.fleet["lost"])
	w.mutex.Lock()
	w.broken = "broken.example.com/"
	w.mutex.Unlock()
	since := shared.log.mark()
	shared.args = append(slices.Clone(w.args), "--rollout-budget=1", "--collector-registry=broken.example.com")
	startAgain(t)
	for _, collector := range w.fleet {
		shared.awaitReconcile(t, since, client.ObjectKeyFromObject(collector))
	}
	both := []string{"a", "lost"} // what is lost comes with the change, because nothing else can bring it
	g.Eventually(func() []string { return w.have(t, w.broken) }).Should(ConsistOf(both))
	g.Consistently(func() []string { return w.have(t, w.broken) }, 3*time.Second).Should(ConsistOf(both))
	g.Expect(get(t, w.fleet["lost"], "", &corev1.Service{}).UID).NotTo(BeEmpty())
	for _, name := range []string{"b", "c", "d"} {
		g.Expect(condition(t, w.fleet[name], v1alpha1.UpdatePending)).To(HaveField("Reason", "Waiting"))
		g.Expect(condition(t, w.fleet[name], "Ready").Status).To(Equal(corev1.ConditionTrue))
	}

	w.bring(t, "mended.example.com/", "--rollout-budget=1")
	w.awaitReady(t, "mended.example.com/")
}

func TestAnotherVersionOfTheOperatorThatRendersTheSameWritesNoObject(t *testing.T) {
	w := newWave(t, map[string]map[string]string{"gateway": {}})
	text, err := os.ReadFile(shared.binary)
	if err != nil {
		t.Fatal(err)
	}
	before := shared.binary
	defer func() { shared.binary = before }()
	shared.binary = filepath.Join(t.TempDir(), "kube8-operator")
	if err := os.WriteFile(shared.binary, append(text, '\n'), 0o700); err != nil { // what follows the sections of a program is passed over
		t.Fatal(err)
	}
	requests, since := plane.audit.mark(t), shared.log.mark()
	restart(t, w.args)
	shared.awaitReconcile(t, since, client.ObjectKeyFromObject(w.fleet["gateway"]))
	for _, request := range plane.audit.writes(t, requests, w.fleet["gateway"].Namespace) {
		NewWithT(t).Expect(request).To(Or(HavePrefix("patch collectors/status"), HavePrefix("update deployments/status")))
	}
}

func TestTheCommandsForChangesThatTheOperatorBringsDoWhatThePageSays(t *testing.T) {
	gateway := installSample(t)
	edge := newCollector(gateway.Namespace, "edge")
	create(t, edge)
	defer runScript(t, t.TempDir(), "kubectl label namespace "+gateway.Namespace+" "+v1alpha1.RolloutLabel+"- "+v1alpha1.RingLabel+"-", nil)
	script, err := docs.Script("docs/how-to/roll-out.md", "Changes that the operator brings")
	shown := runScript(t, t.TempDir(), script, err)
	g := NewWithT(t)
	g.Expect(shown).To(MatchRegexp(`tenant-acme +gateway +<none>`))
	g.Expect(get(t, edge, "", &v1alpha1.Collector{}).Labels).To(HaveKeyWithValue(v1alpha1.RolloutLabel, v1alpha1.RolloutHold))
	namespace := &corev1.Namespace{}
	g.Expect(plane.client.Get(t.Context(), client.ObjectKey{Name: gateway.Namespace}, namespace)).To(Succeed())
	g.Expect(namespace.Labels).To(And(HaveKeyWithValue(v1alpha1.RingLabel, "0"), HaveKeyWithValue(v1alpha1.RolloutLabel, v1alpha1.RolloutNow)))
}
