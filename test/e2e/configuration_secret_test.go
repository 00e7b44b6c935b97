//go:build e2e

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestAChangeOfAReferencedSecretRollsThePods(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, "restricted")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "team-config", Labels: map[string]string{collectorLabel: "shared"}},
		Data:       map[string][]byte{"collector.yaml": []byte(printing("basic"))},
	}
	create(t, secret)
	var collectors []*v1alpha1.Collector
	var old []corev1.Pod
	for _, name := range []string{"one", "two"} {
		collector := newCollector(namespace, name, "")
		collector.Spec.Collector.ConfigurationSecret = &v1alpha1.ConfigurationSecret{Name: "team-config", Key: "collector.yaml"}
		create(t, collector)
		collectors = append(collectors, collector)
	}
	for _, collector := range collectors {
		awaitReady(t, collector)
		old = append(old, podsOf(t, collector)...)
	}

	before := secret.DeepCopy()
	secret.Data["collector.yaml"] = []byte(printing("detailed"))
	if err := cluster.Patch(t.Context(), secret, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	for _, collector := range collectors {
		awaitReady(t, collector)
	}
	for _, pod := range old {
		awaitGone(t, &pod)
	}
	for _, collector := range collectors {
		span := "a-span-for-" + collector.Name
		NewWithT(t).Eventually(func() error { return send(t.Context(), collector, span) }).Should(Succeed())
		awaitPrinted(t, collector, span) // which the old configuration does not do
	}
}
