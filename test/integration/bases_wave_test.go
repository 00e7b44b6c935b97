package integration

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/helm"
)

func TestAChangedBaseReachesTheFleetInWaves(t *testing.T) {
	g := NewWithT(t)
	w := newWave(t, map[string]map[string]string{
		"a-last": nil, "b-one": ring("1"), "c-one": ring("1"), "d-zero": ring("0"), "e-zero": ring("0"), "f-held": {v1alpha1.RolloutLabel: v1alpha1.RolloutHold},
		"g-without": ring("0"),
	})
	restart(t, append(slices.Clone(w.args), "--rollout-budget=2", "--rollout-deadline=3s"))
	base := newBase(t, "t-wave", "last", "exporters: {debug: {}}\n")
	stamp := func(content string) string { return stampOf("base-t-wave.yaml", content) }
	w.mutex.Lock()
	w.change = basesOf
	w.mutex.Unlock()
	var all []string
	for name := range w.fleet {
		if name != "g-without" {
			w.label(t, name, v1alpha1.BasesLabel, "t-wave")
			all = append(all, name)
		}
	}
	moved := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "f-held" })
	w.awaitReady(t, stamp("exporters: {debug: {}}\n"), moved...)
	g.Expect(condition(t, w.fleet["f-held"], v1alpha1.UpdatePending)).To(HaveField("Reason", "LeftOut"), "a base that a namespace gets is the platform's change")
	g.Expect(basesOf(get(t, w.fleet["g-without"], "", &appsv1.Deployment{}))).To(BeEmpty())

	t.Run("ring by ring, within the budget", func(t *testing.T) {
		g := NewWithT(t)
		content := "exporters: {debug: {verbosity: basic}}\n"
		writeBase(t, base, content)
		w.awaitReady(t, stamp(content), moved...)
		w.mutex.Lock()
		order, atOnce := w.order[stamp(content)], w.atOnce[stamp(content)]
		w.mutex.Unlock()
		g.Expect(order).To(HaveLen(len(moved)))
		g.Expect(order[:2]).To(ConsistOf("d-zero", "e-zero"))
		g.Expect(order[2:4]).To(ConsistOf("b-one", "c-one"))
		g.Expect(atOnce).To(BeNumerically("<=", 2))
	})
	broken, before := "exporters: {debug: {verbosity: none}}\n", "exporters: {debug: {verbosity: basic}}\n"
	t.Run("and stops at the budget when pods do not become ready", func(t *testing.T) {
		g := NewWithT(t)
		w.mutex.Lock()
		w.broken = stamp(broken)
		w.mutex.Unlock()
		writeBase(t, base, broken)
		g.Eventually(func() float64 { return value(t, `kube8_rollout_collectors{state="held"}`) }).Should(BeEquivalentTo(3))
		g.Expect(w.have(t, stamp(broken))).To(ConsistOf("d-zero", "e-zero"))
	})
	t.Run("and goes back where the one of before is put back", func(t *testing.T) {
		writeBase(t, base, before)
		w.awaitReady(t, stamp(before), moved...)
		NewWithT(t).Expect(w.have(t, stamp(broken))).To(BeEmpty())
	})
	t.Run("and is refused in no ring", func(t *testing.T) {
		g := NewWithT(t)
		writeBase(t, base, "exporters: [")
		for _, name := range all { // also the one that waits for its first base
			g.Eventually(func() v1alpha1.Condition { return condition(t, w.fleet[name], v1alpha1.UpdatePending) }).Should(
				HaveField("Reason", v1alpha1.ReasonBaseRefused))
			g.Expect(condition(t, w.fleet[name], "Ready").Status).To(Equal(corev1.ConditionTrue))
		}
		g.Expect(w.have(t, stamp(before))).To(ConsistOf(moved))
		g.Eventually(func() float64 { return value(t, `kube8_base_refused_collectors`) }).Should(BeEquivalentTo(len(all)))
		restart(t, shared.args) // an operator that starts finds the refusal in no memory
		g.Eventually(func() float64 { return value(t, `kube8_base_refused_collectors`) }).Should(BeEquivalentTo(len(all)))
		change(t, w.fleet["c-one"], func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
		g.Eventually(func() string {
			return get(t, w.fleet["c-one"], "", &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Image
		}).Should(HaveSuffix(":0.151.0"), "the owner's change goes on")
		g.Expect(w.have(t, stamp(before))).To(ConsistOf(moved))
		writeBase(t, base, before+"# mended\n")
		w.awaitReady(t, stamp(before+"# mended\n"), moved...)
	})
	t.Run("and waits while all is paused", func(t *testing.T) {
		g := NewWithT(t)
		setLabel(t, systemNamespace, v1alpha1.RolloutLabel, v1alpha1.RolloutHold)
		defer setLabel(t, systemNamespace, v1alpha1.RolloutLabel, "")
		content := "exporters: {debug: {verbosity: detailed}}\n"
		g.Eventually(func() bool { // the labels of namespaces are believed for a while
			writeBase(t, base, before+"# "+time.Now().String()+"\n")
			return condition(t, w.fleet["d-zero"], v1alpha1.UpdatePending).Reason == "Waiting"
		}).WithPolling(2 * time.Second).WithTimeout(time.Minute).Should(BeTrue())
		writeBase(t, base, content)
		g.Eventually(func() v1alpha1.Condition { return condition(t, w.fleet["a-last"], v1alpha1.UpdatePending) }).Should(
			HaveField("Message", ContainSubstring("once label kube8.dev/rollout of namespace kube8-operator-system no longer pauses all of them")))
		g.Consistently(func() []string { return w.have(t, stamp(content)) }).WithTimeout(2 * time.Second).Should(BeEmpty())
		setLabel(t, systemNamespace, v1alpha1.RolloutLabel, "")
		w.awaitReady(t, stamp(content), moved...)
	})
	t.Run("and is told apart from what others change", func(t *testing.T) {
		told := map[string]bool{}
		for _, secret := range revisions(t, w.fleet["d-zero"]) {
			recorded, err := helm.Unpack(secret.Data["release"])
			if err != nil {
				t.Fatal(err)
			}
			told[recorded.Info.Description] = true
		}
		NewWithT(t).Expect(told).To(HaveKey("changed by the platform's bases"))
	})
}
