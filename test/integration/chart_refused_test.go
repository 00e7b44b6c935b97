package integration

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// withTemplate returns the argument for an operator whose chart has one more template.
func withTemplate(t *testing.T, text string) string {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "helm-charts/collector"), os.DirFS(filepath.Join(root, "helm-charts/collector"))); err != nil {
		t.Fatal(err)
	}
	watches, err := os.ReadFile(filepath.Join(root, "watches.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "watches.yaml")
	if err := os.WriteFile(file, watches, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "helm-charts/collector/templates/more.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "--watches-file=" + file
}

// Not parallel: it restarts the shared operator.
func TestAChartThatIsRefusedWaitsForItsTurnAndHarmsNoCollector(t *testing.T) {
	w := newWave(t, map[string]map[string]string{"a-zero": ring("0"), "b-one": ring("1"), "c-last": nil})
	untouched := map[string]int64{}
	for name, collector := range w.fleet {
		untouched[name] = get(t, collector, "", &appsv1.Deployment{}).Generation
	}
	for name, row := range map[string]struct{ template, refusal string }{
		"a template that refuses a value": {`{{ fail "tenant.id: this chart takes no tenants" }}`, "spec.tenant.id: this chart takes no tenants"},
		"no valid YAML":                   {"apiVersion: v1\nkind: Secret\nmetadata: {name: [\n", "is not YAML"},
		"an object that the API server refuses": {
			"apiVersion: v1\nkind: Service\nmetadata: {name: {{ .Release.Name }}-more}\nspec: {ports: [{port: 0}]}\n", "must be between 1 and 65535",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			restart(t, append(slices.Clone(w.args), "--rollout-budget=1", withTemplate(t, row.template)))
			pending := func(name string) func() v1alpha1.Condition {
				return func() v1alpha1.Condition { return condition(t, w.fleet[name], v1alpha1.UpdatePending) }
			}
			refused := And(HaveField("Status", corev1.ConditionTrue), HaveField("Reason", "Refused"), HaveField("Message", ContainSubstring(row.refusal)))
			g.Eventually(pending("a-zero")).Should(refused)
			for _, later := range []string{"b-one", "c-last"} {
				g.Eventually(pending(later)).Should(HaveField("Reason", "Waiting"))
			}
			g.Eventually(func() float64 { return value(t, `kube8_rollout_collectors{state="held"}`) }).Should(BeEquivalentTo(2))
			g.Expect(value(t, `kube8_rollout_collectors{state="overdue"}`)).To(BeEquivalentTo(1))
			g.Eventually(func() map[string]int { return events(t, w.fleet["a-zero"]) }).Should(HaveKey(MatchRegexp(
				"^Warning RolloutHeld: the operator's change is refused; with 1 overdue Collectors the change goes no further, and [12] wait$")))
			for name, collector := range w.fleet {
				g.Expect(condition(t, collector, "Ready").Status).To(Equal(corev1.ConditionTrue), name)
				g.Expect(condition(t, collector, v1alpha1.Stalled)).To(BeZero(), name)
				g.Expect(get(t, collector, "", &appsv1.Deployment{}).Generation).To(Equal(untouched[name]), name)
			}
			deleted := deleteService(t, w.fleet["b-one"]) // what is deployed is repaired meanwhile
			awaitOtherService(t, w.fleet["b-one"], deleted)

			since := shared.log.mark()
			g.Expect(shared.kill()).To(Succeed())
			startAgain(t)
			shared.awaitReconcile(t, since, client.ObjectKeyFromObject(w.fleet["a-zero"]))
			g.Eventually(pending("a-zero")).Should(refused)
			g.Expect(condition(t, w.fleet["c-last"], "Ready").Status).To(Equal(corev1.ConditionTrue), "an operator that starts knows whose change it is")

			change(t, w.fleet["c-last"], func(c *v1alpha1.Collector) { c.Spec.PodLabels = map[string]string{"refused": "yes"} })
			awaitReady(t, w.fleet["c-last"], "False", "ReleaseFailed", row.refusal)
			change(t, w.fleet["c-last"], func(c *v1alpha1.Collector) { c.Spec.PodLabels = nil })
			restart(t, w.args)
			w.awaitReady(t, "ghcr.io/")
		})
	}
}
