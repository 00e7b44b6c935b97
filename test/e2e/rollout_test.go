//go:build e2e

package e2e

import (
	"encoding/base64"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Scenario 3.

func TestAChangedConfigurationIsServedWithoutAFailedRequest(t *testing.T) {
	t.Parallel()
	collector := newCollector(newNamespace(t, "restricted"), "gateway", printing("basic"))
	collector.Spec.Replicas = ptr.To[int32](2)
	create(t, collector)
	client := newClient(t, collector)
	awaitReady(t, collector)
	old := podsOf(t, collector)

	client.start(t)
	client.awaitMore(t, 50)
	change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Configuration = []byte(printing("detailed")) })
	awaitReady(t, collector)
	for _, pod := range old {
		awaitGone(t, &pod)
	}
	client.awaitMore(t, 50)
	sent, failures := client.stop()
	t.Logf("%d requests, %d failures", sent, len(failures))

	g := NewWithT(t)
	g.Expect(failures).To(BeEmpty(), "failures among %d requests", sent)
	pods := podsOf(t, collector)
	g.Expect(pods).To(HaveLen(2))
	for _, pod := range pods {
		g.Eventually(func() (string, error) { return logs(t.Context(), pod) }).Should(ContainSubstring(steadySpan))
	}
}

func TestAConfigurationThatIsOnlyEncodedAnewRollsNoPods(t *testing.T) {
	t.Parallel()
	config := printing("basic")
	for len(config)%3 == 0 {
		config += "\n"
	}
	collector := newCollector(newNamespace(t, "restricted"), "gateway", config)
	create(t, collector)
	awaitReady(t, collector)
	before, pods := get(t, collector, &appsv1.Deployment{}), podsOf(t, collector)

	// The last bits before the padding mean nothing. The annotation shows that the operator has seen the change.
	encoded := []byte(base64.StdEncoding.EncodeToString([]byte(config)))
	encoded[len(strings.TrimRight(string(encoded), "="))-1]++
	patch := `{"spec": {"collector": {"configuration": "` + string(encoded) + `"}, "service": {"annotations": {"example.com/seen": "yes"}}}}`
	if err := cluster.Patch(t.Context(), collector, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	g := NewWithT(t)
	g.Eventually(func() map[string]string { return get(t, collector, &corev1.Service{}).Annotations }).Should(HaveKey("example.com/seen"))
	awaitReady(t, collector)

	after := get(t, collector, &appsv1.Deployment{})
	g.Expect(after.Generation).To(Equal(before.Generation))
	g.Expect(names(podsOf(t, collector))).To(Equal(names(pods)))
}

func names(pods []corev1.Pod) (names []string) {
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}
