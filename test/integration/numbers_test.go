package integration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// expectTold waits until each condition that says something of a refusal says it as it is now.
func expectTold(t *testing.T, collector *v1alpha1.Collector, about, now string) {
	t.Helper()
	NewWithT(t).Eventually(func() (said []string) {
		for _, one := range get(t, collector, "", &v1alpha1.Collector{}).Status.Conditions {
			if strings.Contains(one.Message, about) {
				said = append(said, one.Message)
			}
		}
		return said
	}).Should(And(Not(BeEmpty()), HaveEach(ContainSubstring(now))))
}

// allowStorage sets how much storage the claims of a namespace may have. No controller counts what they have.
func allowStorage(t *testing.T, limit *corev1.ResourceQuota, size string) {
	t.Helper()
	hard := corev1.ResourceList{corev1.ResourceRequestsStorage: resource.MustParse(size)}
	limit.Spec.Hard = hard
	if err := plane.client.Update(t.Context(), limit); err != nil {
		t.Fatal(err)
	}
	none := corev1.ResourceList{corev1.ResourceRequestsStorage: resource.MustParse("0")}
	limit.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: none}
	if err := plane.client.Status().Update(t.Context(), limit); err != nil {
		t.Fatal(err)
	}
}

func TestTheStatusHasTheNumbersOfTheLastRefusal(t *testing.T) {
	t.Parallel()
	t.Run("of a quota that was raised, but not enough", func(t *testing.T) {
		t.Parallel()
		collector := newCollector(newNamespace(t), "gateway")
		collector.Spec.VolumeClaims = queueOf("queue", "10Gi")
		limit := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: collector.Namespace, Name: "limit"}}
		if err := plane.client.Create(t.Context(), limit); err != nil {
			t.Fatal(err)
		}
		allowStorage(t, limit, "1Gi")
		if err := plane.client.Create(t.Context(), collector); err != nil {
			t.Fatal(err)
		}
		expectTold(t, collector, "exceeded quota", "limited: requests.storage=1Gi")
		allowStorage(t, limit, "5Gi")
		expectTold(t, collector, "exceeded quota", "limited: requests.storage=5Gi")
		allowStorage(t, limit, "10Gi")
		awaitRevision(t, collector, 1)
	})
	t.Run("of a configuration in a Secret that is still wrong", func(t *testing.T) {
		t.Parallel()
		collector := newReferring(newNamespace(t), "gateway")
		team := createSecret(t, collector.Namespace, "team-config", "- 1")
		if err := plane.client.Create(t.Context(), collector); err != nil {
			t.Fatal(err)
		}
		expectTold(t, collector, "is not a YAML mapping", "line 1 is")
		changeSecret(t, team, func(s *corev1.Secret) { s.Data["collector.yaml"] = []byte("\n\n- 1") })
		expectTold(t, collector, "is not a YAML mapping", "line 3 is")
	})
}
