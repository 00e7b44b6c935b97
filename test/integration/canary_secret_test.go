package integration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Once the canary pods refer to it, the spec and what the workload refers to are as before. In a namespace that holds the operator's
// changes, the change would be taken back then.
func TestARenewedSecretProvesItselfAndIsNoChangeOfTheOperator(t *testing.T) {
	t.Parallel()
	g, collector := NewWithT(t), withCanary(t, v1alpha1.ModeDeployment, v1alpha1.Canary{Hold: "1s"})
	setLabel(t, collector.Namespace, v1alpha1.RolloutLabel, v1alpha1.RolloutHold)
	credentials := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: collector.Namespace, Name: "credentials", Labels: map[string]string{v1alpha1.CollectorLabel: collector.Name},
		},
		StringData: map[string]string{"TOKEN": secret},
	}
	g.Expect(plane.client.Create(t.Context(), credentials)).To(Succeed())
	change(t, collector, func(c *v1alpha1.Collector) {
		c.Spec.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "credentials"}}}}
	})
	prove(t, collector)
	awaitReady(t, collector, "True", "Available", "3/3")

	patch := client.MergeFrom(credentials.DeepCopy())
	credentials.StringData = map[string]string{"TOKEN": "renewed"}
	g.Expect(plane.client.Patch(t.Context(), credentials, patch)).To(Succeed())
	awaitReady(t, collector, "False", "Proving", "canary pods (1 of 3) are not there")
	touch(t, collector)
	pod := startPod(t, collector, templateOf(t, collector))
	tell(t, pod, func(status *corev1.PodStatus) { status.Phase = corev1.PodPending })
	awaitReady(t, collector, "False", "Proving", "canary pods (1 of 3) are not ready")
	g.Expect(condition(t, collector, v1alpha1.UpdatePending)).To(BeZero())
	tell(t, pod, readyFor(24*time.Hour))
	awaitRevision(t, collector, 3)
}
