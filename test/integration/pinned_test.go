package integration

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Not parallel: it has the shared operator reach the API server through a proxy.
func TestAnObjectThatIsReplacedJustBeforeItsRepairIsNotTouched(t *testing.T) {
	p := newProxy(t)
	collector := newCollector(newNamespace(t), "gateway")
	deployments := "/apis/apps/v1/namespaces/" + collector.Namespace + "/deployments/"
	var foreign atomic.Pointer[appsv1.Deployment]
	var armed atomic.Bool
	p.inject(func(_ http.ResponseWriter, r *http.Request) string {
		if r.Method == http.MethodPatch && strings.HasPrefix(r.URL.Path, deployments) && armed.CompareAndSwap(true, false) {
			foreign.Store(replaceDeployment(t, collector))
		}
		return ""
	})
	create(t, collector)

	edited := get(t, collector, "", &appsv1.Deployment{})
	edited.Spec.Replicas = new(int32(3))
	armed.Store(true)
	if err := plane.client.Update(t.Context(), edited); err != nil {
		t.Fatal(err)
	}
	NewWithT(t).Eventually(foreign.Load).ShouldNot(BeNil())
	awaitConflict(t, collector, `Deployment "gateway" exists and has no owner; delete or rename it, or rename the Collector`)
	expectUntouched(t, foreign.Load())
	remove(t, collector)
	expectUntouched(t, foreign.Load())
}

// replaceDeployment puts somebody else's Deployment in the place of a Collector's.
func replaceDeployment(t *testing.T, collector client.Object) *appsv1.Deployment {
	t.Helper()
	deployment := &appsv1.Deployment{}
	if err := plane.client.Get(context.Background(), client.ObjectKeyFromObject(collector), deployment); err != nil {
		t.Error(err)
	}
	if err := plane.client.Delete(context.Background(), deployment); err != nil {
		t.Error(err)
	}
	theirs := &appsv1.Deployment{Spec: *deployment.Spec.DeepCopy()}
	theirs.Namespace, theirs.Name, theirs.Spec.Replicas = deployment.Namespace, deployment.Name, new(int32(7))
	if err := plane.client.Create(context.Background(), theirs); err != nil {
		t.Error(err)
	}
	return theirs
}
