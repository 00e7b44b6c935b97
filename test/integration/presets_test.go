package integration

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/docs"
)

// Not parallel: the page says in which namespace the Collector is.
func TestAPresetNamesTheRoleThatIsMissingUntilItIsBound(t *testing.T) {
	collector := newCollector("tenant-acme", "agent")
	collector.Spec.Presets = &v1alpha1.Presets{
		KubeletMetrics:       &v1alpha1.KubeletMetricsPreset{Enabled: true},
		KubernetesAttributes: &v1alpha1.KubernetesPreset{Enabled: true},
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: collector.Namespace}}
	if err := client.IgnoreAlreadyExists(plane.client.Create(t.Context(), namespace)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		removeAll(t, collector)
		for _, name := range []string{"acme-agent", "tenant-acme-agent-kubelet-metrics"} {
			binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if err := client.IgnoreNotFound(plane.client.Delete(context.Background(), binding)); err != nil {
				t.Error(err)
			}
		}
	})
	create(t, collector)
	g := NewWithT(t)
	ready := func() v1alpha1.Condition { return condition(t, collector, v1alpha1.PresetsReady) }
	g.Eventually(ready).Should(And(HaveField("Status", corev1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonRoleMissing)))
	g.Expect(ready().Message).To(And(
		ContainSubstring("spec.presets.kubeletMetrics: ServiceAccount tenant-acme/agent may not get nodes/stats"),
		ContainSubstring("spec.presets.kubernetesAttributes: ServiceAccount tenant-acme/agent may not list replicasets")))
	g.Eventually(func() map[string]int { return events(t, collector) }).Should(HaveKey(ContainSubstring("RoleMissing")))

	script, err := docs.Script("docs/explanation/security.md", "Rights of collectors")
	runScript(t, "", script, err)
	g.Eventually(ready, time.Minute).Should(HaveField("Message", And(
		ContainSubstring("may not get nodes/stats"), Not(ContainSubstring("may not list replicasets")))))
	_, command, found := strings.Cut(ready().Message, "config/collector-roles: ")
	g.Expect(found).To(BeTrue())
	runScript(t, "", command, nil)
	g.Eventually(ready, time.Minute).Should(HaveField("Status", corev1.ConditionTrue))

	awaitTold(t, collector)
	since := plane.audit.mark(t)
	asked := func() bool {
		return slices.ContainsFunc(plane.audit.read(t)[since:], func(r request) bool { return r.ObjectRef.Resource == "subjectaccessreviews" })
	}
	touch(t, collector)
	g.Expect(asked()).To(BeFalse(), "nothing is asked for a spec that has what it needs")
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.ServiceAccount = &v1alpha1.ServiceAccount{Name: "other"} })
	g.Eventually(ready).Should(HaveField("Message", ContainSubstring("ServiceAccount tenant-acme/other may not")))
	g.Expect(asked()).To(BeTrue())
}
