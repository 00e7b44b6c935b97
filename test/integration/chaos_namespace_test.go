package integration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// A namespace that is being deleted takes no new objects, while Kubernetes deletes those that it has, in any order. Its
// part is played by the test. The Collectors go late, so that the operator sees the objects of living Collectors
// disappear, which it cannot bring back.
func TestChaosANamespaceIsDeletedUnderTheOperator(t *testing.T) {
	random := newRandom(t)
	other := install(t)
	namespace := newNamespace(t)
	var fleet []*v1alpha1.Collector
	for _, mode := range []v1alpha1.Mode{v1alpha1.ModeDeployment, v1alpha1.ModeDaemonSet, v1alpha1.ModeStatefulSet, ""} {
		collector := newCollector(namespace, "collector-"+string(mode))
		collector.Spec.Mode = mode
		if mode == "" {
			collector.Name = "new" // which the end of its namespace meets while it is being installed
			since := plane.audit.mark(t)
			if err := plane.client.Create(t.Context(), collector); err != nil {
				t.Fatal(err)
			}
			awaitWrites(t, since, namespace, 1+random.IntN(6))
		} else {
			create(t, collector)
		}
		fleet = append(fleet, collector)
	}

	since, began := shared.log.mark(), time.Now()
	if err := plane.client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Eventually(func() bool {
		refused := plane.client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "late"}})
		return apierrors.HasStatusCause(refused, corev1.NamespaceTerminatingCause)
	}).Should(BeTrue(), "the namespace takes no new objects")
	deleteAll(t, namespace, random.Shuffle, func(kind string) bool { return kind != "Collector" })
	for _, collector := range fleet {
		awaitFailures(t, since, collector, 1)
	}
	upgrade(t, other, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.151.0" })
	deleteAll(t, namespace, random.Shuffle, func(kind string) bool { return kind == "Collector" })
	for _, collector := range fleet {
		awaitGone(t, collector)
	}

	g := NewWithT(t)
	g.Eventually(func() []string {
		// An object whose creation was on its way can be left; Kubernetes looks again until nothing is.
		deleteAll(t, namespace, random.Shuffle, func(string) bool { return true })
		return names(contents(t, namespace))
	}).Should(BeEmpty())
	seconds := int(time.Since(began).Seconds())
	reconciles := 0
	for _, collector := range fleet {
		count := len(shared.log.reconciles(since, client.ObjectKeyFromObject(collector)))
		// Each object that goes is news; beyond that, retries come after 2, 4, 8 … seconds.
		g.Expect(count).To(BeNumerically("<=", 20+seconds), "reconciles of %s in %d seconds", collector.Name, seconds)
		reconciles += count
	}
	upgrade(t, other, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = "0.152.0" })
	recordFigure(t, "Collectors in namespaces that were deleted under them", len(fleet))
	recordFigure(t, "Of these, still there in the end", len(list(t, namespace, "kube8.dev/v1alpha1", "Collector")))
	recordFigure(t, "Reconciles that this took, all in all", reconciles)
}

// deleteAll deletes what is in a namespace and of certain kinds, in the order of shuffle.
func deleteAll(t *testing.T, namespace string, shuffle func(int, func(i, j int)), kinds func(kind string) bool) {
	t.Helper()
	objects := contents(t, namespace)
	order := names(objects)
	shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, name := range order {
		object := objects[name]
		if !kinds(object.GetKind()) {
			continue
		}
		if err := plane.client.Delete(t.Context(), &object); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
}
