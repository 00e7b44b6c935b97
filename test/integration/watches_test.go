package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const customWatches = `
- group: kube8.dev
  version: v1alpha1
  kind: Collector
  chart: %s
  selector:
    matchLabels:
      watched: "yes"
  overrideValues:
    replicas: $REPLICAS
  reconcilePeriod: 200ms
  maxConcurrentReconciles: 3
`

// Not parallel: it stops the shared operator.
func TestTheWatchesFileIsHonoured(t *testing.T) {
	namespace := newNamespace(t)
	file := filepath.Join(t.TempDir(), "watches.yaml")
	chart, err := filepath.Abs("helm-charts/collector")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, fmt.Appendf(nil, customWatches, chart), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := shared.stop(); err != nil {
		t.Error(err)
	}
	t.Setenv("REPLICAS", "4")
	custom := &operator{
		binary: shared.binary, account: shared.account, watchNamespace: namespace, args: []string{"--watches-file=" + file},
	}
	if err := custom.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := custom.stop(); err != nil {
			t.Error(err)
		}
		if err := shared.start(context.Background()); err != nil {
			t.Error(err)
		}
	})

	ignored, watched := newCollector(namespace, "ignored"), newCollector(namespace, "watched")
	watched.Labels = map[string]string{"watched": "yes"}
	for _, collector := range []*v1alpha1.Collector{ignored, watched} {
		if err := plane.client.Create(t.Context(), collector); err != nil {
			t.Fatal(err)
		}
	}
	// A pod can tell news of any Collector.
	pod(t, ignored, corev1.PodStatus{Phase: corev1.PodFailed})
	awaitRevision(t, watched, 1)
	g := NewWithT(t)
	g.Expect(get(t, watched, "", &appsv1.Deployment{}).Spec.Replicas).To(HaveValue(BeEquivalentTo(4)), "overrideValues")
	for range 8 { // more reconciles than the install's own events can start, so reconcilePeriod does
		custom.awaitReconcile(t, custom.log.mark(), client.ObjectKeyFromObject(watched))
	}
	g.Expect(get(t, ignored, "", &v1alpha1.Collector{})).To(Equal(ignored), "selector")
	g.Expect(custom.log.about(namespace)).To(ContainSubstring(`"worker count":3`), "maxConcurrentReconciles")
}
