package integration

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/docs"
)

// Not parallel: it changes a base of the whole fleet, by the commands of docs/how-to/roll-out.md.
func TestThePluginShowsPausesAndUndoesARollout(t *testing.T) {
	w := newWave(t, map[string]map[string]string{"a-zero": ring("0"), "b-one": ring("1"), "c-last": nil, "d-held": {v1alpha1.RolloutLabel: v1alpha1.RolloutHold}})
	restart(t, append(slices.Clone(w.args), "--rollout-budget=1", "--rollout-deadline=2s"))
	const good, broken = "exporters: {debug: {}}\n", "exporters: {debug: {verbosity: none}}\n"
	base := newBase(t, "t-rollout", "last", good)
	stamp := func(content string) string { return stampOf("base-t-rollout.yaml", content) }
	w.mutex.Lock()
	w.change, w.broken = basesOf, stamp(broken)
	w.mutex.Unlock()
	moved := []string{"a-zero", "b-one", "c-last"}
	for _, name := range append(moved, "d-held") {
		w.label(t, name, v1alpha1.BasesLabel, "t-rollout")
	}
	w.awaitReady(t, stamp(good), moved...)
	script, err := docs.Script("docs/how-to/roll-out.md", "Rollouts")
	if err != nil {
		t.Fatal(err)
	}
	commands := strings.Split(strings.TrimSpace(strings.ReplaceAll(script, "limits", "t-rollout")), "\n")
	NewWithT(t).Expect(commands).To(HaveLen(5), "status, pause, resume, undo and continue")
	p := pluginIn(t, "default").in(t)
	shown := func() string {
		out, _ := p.try("rollout", "status", "--deadline=2s")
		return out
	}
	asLabel := func() string {
		namespace := &corev1.Namespace{}
		if err := plane.client.Get(t.Context(), client.ObjectKey{Name: systemNamespace}, namespace); err != nil {
			t.Fatal(err)
		}
		return namespace.Labels[v1alpha1.RolloutLabel]
	}

	t.Run("where nothing is on its way", func(t *testing.T) {
		g := NewWithT(t)
		version := sha256Of(good)[:20]
		g.Expect(shown()).To(And(MatchRegexp(`(?m)^0 +1 +0 +0 +0 +0 +0$`), MatchRegexp(`(?m)^1 +1 +0 +0 +0 +0 +0$`), MatchRegexp(`(?m)^last +1 +0 +1 +0 +0 +0$`),
			MatchRegexp(`(?m)^t-rollout +`+version+` +`+version+`: 3$`), Not(ContainSubstring("Overdue:")), Not(ContainSubstring("paused"))))
		g.Expect(p.in(t).run("rollout", "status", "-n", w.fleet["b-one"].Namespace, "-o", "json")).To(And(
			ContainSubstring(`"up to date": 1`), Not(ContainSubstring(`"last"`))))
	})
	t.Run("for somebody who may not read namespaces and bases", func(t *testing.T) {
		g := NewWithT(t)
		tenant := pluginOf(t, kubeconfigWith(t, w.fleet["a-zero"].Namespace, "kube8-operator-collector-viewer"))
		g.Eventually(func() string {
			out, _ := tenant.try("rollout", "status", "-n", w.fleet["a-zero"].Namespace)
			return out
		}).Should(And(MatchRegexp(`(?m)^unknown +1 +0 +0 +0 +0 +0$`), MatchRegexp(`(?m)^t-rollout +unknown +`)))
		tenant.refuses("your account may not list Collectors", "rollout", "status")
		tenant.refuses("forbidden", "rollout", "pause")
		tenant.refuses("forbidden", "rollout", "undo", "t-rollout", "--to", "1", "--yes")
	})
	t.Run("while all is paused", func(t *testing.T) {
		g := NewWithT(t)
		t.Cleanup(func() { _, _ = p.try("rollout", "resume") }) // or no other test's change would go on
		g.Expect(p.in(t).run("rollout", "pause", "--dry-run=server")).To(HaveSuffix("(server dry run)\n"))
		g.Expect(asLabel()).To(BeEmpty())
		p.in(t).refuses("there is no namespace moon", "rollout", "pause", "--operator-namespace", "moon")
		screen := p.in(t).shell("true", commands[1])
		g.Expect(screen.end()).To(Succeed(), screen.text())
		g.Expect(screen.text()).To(ContainSubstring("namespace/kube8-operator-system paused: "))
		g.Expect(asLabel()).To(Equal("hold"))
		g.Eventually(func() string { // the labels of namespaces are believed for a while
			writeBase(t, base, good+"# "+time.Now().String()+"\n")
			return shown()
		}).WithPolling(2 * time.Second).WithTimeout(time.Minute).Should(And(HavePrefix("Changes are paused; "), MatchRegexp(`(?m)^1 +0 +1 +0 +0 +0 +0$`)))
		writeBase(t, base, good)
		screen = p.in(t).shell("true", commands[2])
		g.Expect(screen.end()).To(Succeed(), screen.text())
		g.Expect(asLabel()).To(BeEmpty())
		w.awaitReady(t, stamp(good), moved...)
	})
	t.Run("where one is overdue", func(t *testing.T) {
		g := NewWithT(t)
		writeBase(t, base, broken)
		g.Eventually(shown).WithTimeout(30 * time.Second).Should(And(MatchRegexp(`(?m)^0 +0 +0 +0 +0 +1 +0$`), MatchRegexp(`(?m)^1 +0 +1 +0 +0 +0 +0$`),
			ContainSubstring("Overdue:\n  "+w.fleet["a-zero"].Namespace+"/a-zero, for "),
			MatchRegexp(`(?m)^t-rollout +`+sha256Of(broken)[:20]+` +.*`+sha256Of(broken)[:20]+`: 1`), Not(ContainSubstring("debug"))))
		screen := p.in(t).shell("true", commands[0])
		g.Expect(screen.end()).To(Succeed(), "no exit code of its own")
	})
	t.Run("and puts the content of before back", func(t *testing.T) {
		g := NewWithT(t)
		p := p.in(t)
		p.refuses("namespace kube8-operator-system has no base t-moon", "rollout", "undo", "t-moon", "--to", "1111", "--yes")
		p.refuses("no Collector has recorded version 1111", "rollout", "undo", "t-rollout", "--to", "1111", "--yes")
		p.refuses("name the version by --to", "rollout", "undo", "t-rollout", "--yes")
		p.refuses("add --yes", "rollout", "undo", "t-rollout")
		g.Expect(p.run("__complete", "rollout", "undo", "t-r")).To(ContainSubstring("t-rollout\n"))
		screen := p.shell("true", commands[3])
		screen.expect("-exporters: {debug: {verbosity: none}}\n+exporters: {debug: {}}")
		screen.expect("[y/N]")
		screen.answer("")
		g.Expect(screen.end()).NotTo(Succeed())
		g.Expect(p.run("rollout", "undo", "t-rollout", "--dry-run=server")).To(HaveSuffix("(server dry run)\n"))

		screen = p.shell("true", commands[3])
		screen.expect("[y/N]")
		base.Annotations = map[string]string{"example.com/meanwhile": "yes"}
		g.Expect(plane.client.Update(t.Context(), base)).To(Succeed())
		screen.answer("y")
		g.Expect(screen.end()).NotTo(Succeed())
		g.Expect(screen.text()).To(ContainSubstring("another client has changed base configmap/t-rollout"))

		screen = p.shell("true", commands[3])
		screen.expect("[y/N]")
		screen.answer("y")
		g.Expect(screen.end()).To(Succeed(), screen.text())
		w.awaitReady(t, stamp(good), moved...)
		after := &corev1.ConfigMap{}
		g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(base), after)).To(Succeed())
		g.Expect(after.Data).To(Equal(map[string]string{"part.yaml": good}))
		g.Expect(after.Labels).To(HaveKeyWithValue(v1alpha1.BaseLabel, "last"))
	})
	t.Run("at a gate", func(t *testing.T) {
		g := NewWithT(t)
		setLabel(t, systemNamespace, v1alpha1.RolloutLabel, v1alpha1.RolloutGate)
		defer setLabel(t, systemNamespace, v1alpha1.RolloutLabel, "")
		g.Eventually(func() string { // the labels of namespaces are believed for a while
			writeBase(t, base, good+"# "+time.Now().String()+"\n")
			return condition(t, w.fleet["b-one"], v1alpha1.UpdatePending).Message
		}).WithPolling(2 * time.Second).WithTimeout(time.Minute).Should(HaveSuffix("once `kubectl collector rollout continue` lets its ring begin"))
		const next = good + "# next\n"
		writeBase(t, base, next)
		for i, name := range moved {
			w.awaitReady(t, stamp(next), moved[:i+1]...)
			if i+1 == len(moved) {
				break
			}
			g.Expect(shown()).To(HavePrefix("Each ring after the first waits for "))
			g.Consistently(func() []string { return w.have(t, stamp(next)) }, 3*time.Second).Should(ConsistOf(moved[:i+1]), "after %s", name)
			screen := p.in(t).shell("true", commands[4])
			g.Expect(screen.end()).To(Succeed(), screen.text())
		}
	})
}
