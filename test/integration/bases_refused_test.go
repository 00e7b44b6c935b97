package integration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// What is deployed stays in force, and an owner's own change goes at once. A Collector that has deployed no version is refused.
func TestABaseThatIsRefusedHarmsNobody(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, reason, want string
		spoil              func(*corev1.ConfigMap)
	}{
		{
			name: "gone", reason: "ConfigMissing",
			want: `spec.collector.bases: namespace kube8-operator-system has no base "BASE"; create a ConfigMap of that name with the label kube8.dev/base=first`,
		},
		{
			name: "without its label", spoil: func(base *corev1.ConfigMap) { base.Labels = nil }, reason: "ConfigMissing",
			want: `spec.collector.bases: namespace kube8-operator-system has no base "BASE"`,
		},
		{
			name: "nowhere", spoil: func(base *corev1.ConfigMap) { base.Labels[v1alpha1.BaseLabel] = "middle" }, reason: "ConfigInvalid",
			want: `spec.collector.bases: base "BASE" in namespace kube8-operator-system: the label kube8.dev/base is neither first nor last; set it to one of them`,
		},
		{
			name: "of two files", spoil: func(base *corev1.ConfigMap) { base.Data["more.yaml"] = "a: b" }, reason: "ConfigInvalid",
			want: `spec.collector.bases: base "BASE" in namespace kube8-operator-system: has 2 keys; give it one, whose extension its file gets`,
		},
		{
			name: "empty", spoil: func(base *corev1.ConfigMap) { base.Data["part.yaml"] = "" }, reason: "ConfigInvalid",
			want: `spec.collector.bases: base "BASE" in namespace kube8-operator-system: is empty; give its key a content`,
		},
		{
			name: "no yaml", spoil: func(base *corev1.ConfigMap) { base.Data["part.yaml"] = "a: [" + secret }, reason: "ConfigInvalid",
			want: `spec.collector.bases: base "BASE" in namespace kube8-operator-system: key "part.yaml": line 1 has a [ or { that is not closed, or a value in it that needs quotes; close it, or put quotes around the value`,
		},
		{
			name:  "too large",
			spoil: func(base *corev1.ConfigMap) { base.Data["part.yaml"] = "a: " + strings.Repeat("x", 256<<10) }, reason: "ConfigInvalid",
			want: `spec.collector.bases: base "BASE" in namespace kube8-operator-system: has more than 262144 bytes; shorten it`,
		},
		{
			name: "two of a name", spoil: nil, reason: "ConfigInvalid",
			want: `spec.collector.bases: namespace kube8-operator-system has a ConfigMap and a Secret for base "BASE"; remove the label kube8.dev/base from one`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			name := "t-" + strings.ReplaceAll(row.name, " ", "-")
			base := newBase(t, name, "first", "processors: {batch: {}}\n")
			collector := install(t, func(c *v1alpha1.Collector) { c.Spec.Collector.Bases = []v1alpha1.Base{named(name, "")} })
			before := get(t, collector, "", &appsv1.Deployment{})
			other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: name, Labels: map[string]string{v1alpha1.BaseLabel: "first"}}}
			switch {
			case row.name == "gone":
				if err := plane.client.Delete(t.Context(), base); err != nil {
					t.Fatal(err)
				}
			case row.spoil == nil:
				other.StringData = map[string]string{"part.yaml": "a: b"}
				if err := plane.client.Create(t.Context(), other); err != nil {
					t.Fatal(err)
				}
			default:
				unspoilt := base.DeepCopy()
				row.spoil(base)
				if err := plane.client.Patch(t.Context(), base, client.MergeFrom(unspoilt)); err != nil {
					t.Fatal(err)
				}
			}
			g, refusal := NewWithT(t), strings.ReplaceAll(row.want, "BASE", name)
			g.Eventually(func() v1alpha1.Condition { return condition(t, collector, v1alpha1.UpdatePending) }).Should(And(
				HaveField("Status", corev1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonBaseRefused),
				HaveField("Message", And(HavePrefix(refusal), HaveSuffix(`stays deployed`), Not(ContainSubstring(secret))))))
			g.Expect(condition(t, collector, "Ready").Reason).To(Equal(v1alpha1.ReasonProgressing), "as it was")
			after := get(t, collector, "", &appsv1.Deployment{})
			g.Expect(after.Generation).To(Equal(before.Generation), "pods stay as they are")
			g.Expect(after.UID).To(Equal(before.UID))

			fresh := newCollector(collector.Namespace, "fresh")
			fresh.Spec.Collector.Bases = []v1alpha1.Base{named(name, "")}
			if err := plane.client.Create(t.Context(), fresh); err != nil {
				t.Fatal(err)
			}
			awaitReady(t, fresh, "False", row.reason, refusal)
			change(t, collector, func(c *v1alpha1.Collector) {
				c.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("2")}}
			})
			g.Eventually(func() *resource.Quantity {
				return get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Resources.Limits.Cpu()
			}).Should(HaveField("String()", "2"), "the owner's change goes on")
			g.Expect(basesOf(get(t, collector, "", &appsv1.Deployment{}))).To(Equal(basesOf(before)))
			g.Expect(condition(t, collector, v1alpha1.UpdatePending).Reason).To(Equal(v1alpha1.ReasonBaseRefused))

			if err := client.IgnoreNotFound(plane.client.Delete(t.Context(), other)); err != nil {
				t.Fatal(err)
			}
			if err := client.IgnoreNotFound(plane.client.Delete(t.Context(), base)); err != nil {
				t.Fatal(err)
			}
			newBase(t, name, "first", "processors: {memory_limiter: {}}\n")
			NewWithT(t).Eventually(func() string { return basesOf(get(t, collector, "", &appsv1.Deployment{})) }).Should(
				Equal(stampOf("base-"+name+".yaml", "processors: {memory_limiter: {}}\n")), "as soon as the base is there again")
		})
	}
}
