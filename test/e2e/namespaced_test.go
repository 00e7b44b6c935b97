//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/kustomize"
)

// Not parallel: it stops the operator, which would work on the same Collectors.

func TestTheNamespacedInstallServesItsNamespacesAndNoOther(t *testing.T) {
	home, first, second, foreign := newNamespace(t, "restricted"), newNamespace(t, "restricted"),
		newNamespace(t, "restricted"), newNamespace(t, "restricted")
	scaleOperator(t, 0)
	t.Cleanup(func() { scaleOperator(t, 1) })
	untouched := newCollector(foreign, "gateway", printing("basic"))
	create(t, untouched)
	for _, row := range []struct {
		name, folder, home string
		watched            []string
		names              []string // old and new, of namespaces
	}{
		{"for one namespace", "config/namespaced", home, []string{home}, []string{systemNamespace, home}},
		{
			"for several namespaces", "config/namespaced/several", foreign, []string{first, second},
			[]string{systemNamespace, foreign, "team-a", first, "team-b", second},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			pod := deployNamespaced(t, row.folder, row.home, row.names...)
			for _, namespace := range row.watched {
				collector := newCollector(namespace, "gateway", printing("basic"))
				create(t, collector)
				awaitReady(t, collector)
				removeCollectors(t, namespace)
			}
			g := NewWithT(t)
			status, metrics := scrape(t, "http://"+forward(t, pod, "8080")+"/metrics", "")
			g.Expect(status).To(Equal(http.StatusOK))
			g.Expect(metrics).To(ContainSubstring("controller_runtime_reconcile_total"))
			g.Expect(get(t, untouched, &v1alpha1.Collector{}).Finalizers).To(BeEmpty(), "nobody has seen it")
		})
	}
}

// deployNamespaced creates what a folder has, with other names of namespaces, and returns the operator's pod when it is
// ready. When the test ends the pod is gone.
func deployNamespaced(t *testing.T, folder, home string, names ...string) corev1.Pod {
	t.Helper()
	objects, err := kustomize.Build(folder, names...)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if containers, found, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers"); found {
			containers[0].(map[string]any)["image"] = cmp.Or(os.Getenv("IMG"), containers[0].(map[string]any)["image"].(string))
			if err := unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers"); err != nil {
				t.Fatal(err)
			}
		}
		create(t, object)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(show(context.Background(), "logs", "-n", home, "deployment/"+operatorName, "--tail=100"))
		}
		defer losingRights()()
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: operatorName}}
		if err := cluster.Delete(context.Background(), deployment); err != nil {
			t.Error(err)
		}
		awaitOperators(t, home, 0)
	})
	return awaitOperators(t, home, 1)[0]
}

// scaleOperator has the operator of `make deploy` stop, or run again.
func scaleOperator(t *testing.T, replicas int32) {
	t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: operatorName}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, replicas))
	if err := cluster.Patch(context.Background(), deployment, patch); err != nil {
		t.Fatal(err)
	}
	awaitOperators(t, systemNamespace, int(replicas))
}

// awaitOperators waits until a namespace has so many pods of an operator, all ready, and returns them.
func awaitOperators(t *testing.T, namespace string, count int) []corev1.Pod {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var list corev1.PodList
	NewWithT(t).Eventually(func(g Gomega) {
		g.Expect(cluster.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{"control-plane": "controller-manager"})).To(Succeed())
		g.Expect(list.Items).To(HaveLen(count))
		for _, pod := range list.Items {
			g.Expect(isReady(pod)).To(BeTrue(), pod.Name)
		}
	}).Should(Succeed(), "pods of the operator in namespace %s", namespace)
	return list.Items
}
