package integration

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// In this file a pod that nothing controls has a name as a StatefulSet gives it. It is left of an earlier mode, or a copy to debug one.

func TestAStrayPodBringsNothingBackWhenTheCollectorIsDeleted(t *testing.T) {
	t.Parallel()
	collector := install(t, func(c *v1alpha1.Collector) { c.Spec.VolumeClaims = queueOf("any", "1Gi") })
	runPodAs(t, collector, "gateway-0", corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "gateway-queue"},
	})
	release := hold(t, get(t, collector, "-queue", &corev1.PersistentVolumeClaim{})) // as Kubernetes does while a pod uses it
	since, g := plane.audit.mark(t), NewWithT(t)
	g.Expect(plane.client.Delete(t.Context(), collector)).To(Succeed())
	creations := func() (found []string) {
		for _, write := range plane.audit.writes(t, since, collector.Namespace) {
			if strings.Contains(write, "deployments") && !strings.HasPrefix(write, "delete") {
				found = append(found, write)
			}
		}
		return found
	}
	g.Consistently(creations, 5*time.Second).Should(BeEmpty())
	release()
	awaitGone(t, collector)
}

func TestAStrayPodDoesNotKeepAModeAway(t *testing.T) {
	t.Parallel()
	collector := install(t)
	serve(t, collector, 1)
	runPodAs(t, collector, "gateway-0", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "gateway" + filesOf(config)}})
	quota(t, collector.Namespace, "count/deployments.apps")
	NewWithT(t).Expect(plane.client.Delete(t.Context(), get(t, collector, "", &appsv1.Deployment{}))).To(Succeed())
	awaitFailed(t, collector, "exceeded quota")
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Mode = v1alpha1.ModeDaemonSet })
	awaitRevision(t, collector, 2)
}
