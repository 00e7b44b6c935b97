package integration

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestACollectorBecomesARelease(t *testing.T) {
	t.Parallel()
	collector := install(t)

	t.Run("with every object that it asks for, and no other", func(t *testing.T) {
		NewWithT(t).Expect(names(contents(t, collector.Namespace))).To(ConsistOf(
			"Collector/gateway", "Secret/sh.helm.release.v1.gateway.v1",
			"Deployment/gateway", "Secret/gateway"+filesOf(config), "Service/gateway", "ServiceAccount/gateway"))
	})
	t.Run("whose objects it owns and labels", func(t *testing.T) {
		for name, object := range contents(t, collector.Namespace, client.HasLabels{collectorLabel}) {
			g := NewWithT(t)
			g.Expect(object.GetLabels()).To(And(
				HaveKeyWithValue(collectorLabel, "gateway"),
				HaveKeyWithValue("app.kubernetes.io/instance", "gateway"),
				HaveKeyWithValue("app.kubernetes.io/managed-by", "Helm"),
				HaveKeyWithValue("kube8.dev/tenant-id", "1042"),
			), name)
			owner := metav1.GetControllerOf(&object)
			g.Expect(owner).NotTo(BeNil(), "owner of %s", name)
			g.Expect([]any{owner.Kind, owner.Name, owner.UID}).To(Equal([]any{"Collector", "gateway", collector.UID}), name)
		}
	})
	t.Run("whose Secret has the configuration byte for byte", func(t *testing.T) {
		NewWithT(t).Expect(get(t, collector, filesOf(config), &corev1.Secret{}).Data).To(
			Equal(map[string][]byte{"config.yaml": []byte(config)}))
	})
	t.Run("whose pods carry the hash of the decoded configuration", func(t *testing.T) {
		deployment := get(t, collector, "", &appsv1.Deployment{})
		NewWithT(t).Expect(deployment.Spec.Template.Annotations).To(HaveKeyWithValue(hashAnnotation, sha256Of(config)))
	})
	t.Run("and says so in its status, without the manifest", func(t *testing.T) {
		g := NewWithT(t)
		status, _ := list(t, collector.Namespace, "kube8.dev/v1alpha1", "Collector")[0].Object["status"].(map[string]any)
		g.Expect(status["deployedRelease"]).To(And(
			HaveLen(4), HaveKeyWithValue("name", "gateway"), HaveKeyWithValue("generation", int64(1)),
			HaveKeyWithValue("revision", int64(1)), HaveKeyWithValue("digest", HaveLen(64))))
		g.Expect(status).To(And(
			HaveKeyWithValue("version", "0.150.0"),
			HaveKeyWithValue("configHash", sha256Of(config)),
			HaveKeyWithValue("observedGeneration", int64(1)),
		))
		for conditionType, want := range map[string]corev1.ConditionStatus{
			"Initialized": "True", "Deployed": "True", "ReleaseFailed": "False", "Irreconcilable": "False", "Paused": "False",
		} {
			g.Expect(condition(t, collector, conditionType).Status).To(Equal(want), conditionType)
		}
	})
}

func TestARawConfigurationIsDeployedUnparsed(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t), "gateway")
	raw := "\x00[" + secret + "\n\xff"
	collector.Spec.Collector.Configuration, collector.Spec.Collector.Format = []byte(raw), v1alpha1.FormatRaw
	create(t, collector)

	g := NewWithT(t)
	g.Expect(get(t, collector, filesOf(raw), &corev1.Secret{}).Data).To(Equal(map[string][]byte{"config.yaml": []byte(raw)}))
	g.Expect(get(t, collector, "", &appsv1.Deployment{}).Spec.Template.Annotations).To(HaveKeyWithValue(hashAnnotation, sha256Of(raw)))
}

func TestTwoCollectorsWithOneNameInTwoNamespacesDoNotMeet(t *testing.T) {
	t.Parallel()
	ours, theirs := install(t), newCollector(newNamespace(t), "gateway")
	theirs.Spec.Collector.Configuration = []byte("exporters: {debug: {}} # " + secret)
	create(t, theirs)
	before, since := contents(t, theirs.Namespace), plane.audit.mark(t)

	upgrade(t, ours, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	remove(t, ours)

	g := NewWithT(t)
	g.Expect(contents(t, theirs.Namespace)).To(Equal(before))
	g.Expect(plane.audit.writes(t, since, theirs.Namespace)).To(BeEmpty())
}
