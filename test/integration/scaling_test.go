package integration

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestSomebodyElseScalesACollector(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Replicas = new(int32(3))
	create(t, collector)
	pods := func() int32 { return *get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas }
	scale := func(replicas int32) {
		wanted := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
		deployment := get(t, collector, "", &appsv1.Deployment{})
		g.Expect(plane.client.SubResource("scale").Update(t.Context(), deployment, client.WithSubResourceBody(wanted))).To(Succeed())
	}

	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Autoscaling = &v1alpha1.Autoscaling{External: true} })
	g.Expect(pods()).To(BeEquivalentTo(3), "the pods that it had")
	g.Expect(list(t, collector.Namespace, "autoscaling/v2", "HorizontalPodAutoscaler")).To(BeEmpty())

	settled(t, collector)
	scale(5)
	since := plane.audit.mark(t)
	touch(t, collector)
	g.Expect(pods()).To(BeEquivalentTo(5), "what somebody else has set")
	g.Expect(plane.audit.writes(t, since, collector.Namespace)).To(BeEmpty())
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	g.Expect(pods()).To(BeEquivalentTo(5), "with another revision")
	g.Expect(events(t, collector)).NotTo(HaveKey(ContainSubstring("restored to the release")))

	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Autoscaling = nil })
	g.Expect(pods()).To(BeEquivalentTo(3), "those of the spec, once nobody else scales")
}

// scaleTo sets the number of pods of a Collector's Deployment, as `kubectl scale` and autoscalers do.
func scaleTo(t *testing.T, collector *v1alpha1.Collector, replicas int32) {
	t.Helper()
	wanted := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, replicas))
	deployment, answer := get(t, collector, "", &appsv1.Deployment{}), client.WithSubResourceBody(&autoscalingv1.Scale{})
	if err := plane.client.SubResource("scale").Patch(t.Context(), deployment, wanted, answer); err != nil {
		t.Fatal(err)
	}
}

// A HorizontalPodAutoscaler is disabled for a workload that has been scaled to 0.
func TestAWorkloadThatWasScaledToZeroGetsThePodsThatItsAutoscalerDoesNotMake(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Autoscaling = &v1alpha1.Autoscaling{Enabled: true, MinReplicas: new(int32(2)), MaxReplicas: new(int32(9))}
	create(t, collector)
	scale := func(replicas int32) {
		scaleTo(t, collector, replicas)
		serve(t, collector, replicas)
	}
	ready := func() string {
		is := condition(t, collector, "Ready")
		return string(is.Status) + " " + is.Reason + ": " + is.Message
	}
	serve(t, collector, 1)
	g.Eventually(ready).Should(Equal("False Progressing: 1/1 available; autoscaling.minReplicas is 2"))
	scale(2)
	g.Eventually(ready).Should(Equal("True Available: 2/2 available"))
	scaleTo(t, collector, 0)
	g.Eventually(func() int32 { return *get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas }).Should(BeEquivalentTo(2), "once")
	serve(t, collector, 2)
	g.Eventually(ready).Should(Equal("True Available: 2/2 available"))
	scale(5)
	g.Eventually(ready).Should(Equal("True Available: 5/5 available"))
}

// With a metric that is there without pods, a HorizontalPodAutoscaler can scale to 0: https://kep.k8s.io/2021.
func TestAnAutoscalerThatMayScaleToZeroDoes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	backlog := autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
		Metric: autoscalingv2.MetricIdentifier{Name: "backlog"},
		Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: new(resource.MustParse("500"))},
	}}
	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Autoscaling = &v1alpha1.Autoscaling{Enabled: true, MinReplicas: new(int32(0)), MaxReplicas: new(int32(9)),
		Metrics: []autoscalingv2.MetricSpec{backlog}}
	if minorOfAPIServer(t) < 37 {
		createRefused(t, collector)
		g.Expect(condition(t, collector, "Ready").Message).To(ContainSubstring("spec.autoscaling.minReplicas: Invalid value: must be greater than or equal to 1"))
		return
	}
	create(t, collector)
	g.Expect(get(t, collector, "", &autoscalingv2.HorizontalPodAutoscaler{}).Spec.MinReplicas).To(HaveValue(BeEquivalentTo(0)))
	serve(t, collector, 1)
	isReady := func() corev1.ConditionStatus { return condition(t, collector, "Ready").Status }
	g.Eventually(isReady).Should(Equal(corev1.ConditionTrue))

	scaleTo(t, collector, 0)
	serve(t, collector, 0)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.PodLabels = v1alpha1.Labels{"more": "true"} })
	deployment := get(t, collector, "", &appsv1.Deployment{})
	g.Expect(deployment.Spec.Template.Labels).To(HaveKey("more"))
	g.Expect(deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(0)))
	serve(t, collector, 0)
	g.Eventually(isReady).Should(Equal(corev1.ConditionTrue))
}

// The manifests of docs/how-to/sizing.md are accepted, and the operator leaves the number of pods to their autoscaler.
func TestTheQueueScalesACollector(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	page, err := os.ReadFile("docs/how-to/sizing.md")
	g.Expect(err).NotTo(HaveOccurred())
	_, section, _ := strings.Cut(string(page), "\n### By the length of the queue\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(section, -1)
	g.Expect(blocks).To(HaveLen(2))

	collector := newCollector(newNamespace(t), "gateway")
	collector.Spec.Replicas = new(int32(3))
	create(t, collector)
	byKEDA, err := yaml.YAMLToJSON([]byte(blocks[0][1]))
	g.Expect(err).NotTo(HaveOccurred())
	dryRun := []client.PatchOption{client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)}
	g.Expect(plane.client.Patch(t.Context(), collector.DeepCopy(), client.RawPatch(types.MergePatchType, byKEDA), dryRun...)).To(Succeed())

	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Autoscaling = &v1alpha1.Autoscaling{External: true} })
	own := &autoscalingv2.HorizontalPodAutoscaler{}
	g.Expect(yaml.UnmarshalStrict([]byte(blocks[1][1]), own)).To(Succeed())
	own.Namespace = collector.Namespace
	g.Expect(plane.client.Create(t.Context(), own)).To(Succeed())
	target := own.Spec.ScaleTargetRef
	g.Expect(target.APIVersion + " " + target.Kind + " " + target.Name).To(Equal("apps/v1 Deployment " + collector.Name))
	deployment := get(t, collector, "", &appsv1.Deployment{})
	wanted := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 5}}
	g.Expect(plane.client.SubResource("scale").Update(t.Context(), deployment, client.WithSubResourceBody(wanted))).To(Succeed())
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	g.Expect(*get(t, collector, "", &appsv1.Deployment{}).Spec.Replicas).To(BeEquivalentTo(5), "what the autoscaler has set")
	g.Expect(plane.client.Get(t.Context(), client.ObjectKeyFromObject(own), own)).To(Succeed())
}
