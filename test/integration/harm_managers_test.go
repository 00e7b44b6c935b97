package integration

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// ownToo has somebody own all fields of a Collector's Service, beside the operator.
var ownToo = map[string]func(*testing.T, *v1alpha1.Collector){
	"as kubectl replace --force does": func(t *testing.T, collector *v1alpha1.Collector) {
		t.Helper()
		pause(t, collector) // so that nobody is faster
		service := get(t, collector, "", &corev1.Service{})
		again := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: service.Namespace, Name: service.Name, Labels: service.Labels, Annotations: service.Annotations,
				OwnerReferences: service.OwnerReferences,
			},
			Spec: service.Spec,
		}
		again.Labels["example.com/team"] = "a"
		g := NewWithT(t)
		g.Expect(plane.client.Delete(t.Context(), service)).To(Succeed())
		g.Expect(plane.client.Create(t.Context(), again, client.FieldOwner("kubectl-replace"))).To(Succeed())
		resume(t, collector)
	},
	"as kubectl apply --server-side does": func(t *testing.T, collector *v1alpha1.Collector) {
		t.Helper()
		service := get(t, collector, "", &corev1.Service{})
		service.APIVersion, service.Kind, service.ManagedFields, service.ResourceVersion = "v1", "Service", nil, ""
		service.Labels["example.com/team"] = "a"
		text, err := json.Marshal(service)
		if err != nil {
			t.Fatal(err)
		}
		whole := client.RawPatch(types.ApplyPatchType, text)
		NewWithT(t).Expect(plane.client.Patch(t.Context(), service, whole, client.FieldOwner("kubectl"))).To(Succeed())
	},
	"when its managedFields are cleared": func(t *testing.T, collector *v1alpha1.Collector) {
		t.Helper()
		scale(t, get(t, collector, "", &corev1.Service{}), `{"metadata":{"labels":{"example.com/team":"a"},"managedFields":[{}]}}`)
	},
	"when somebody has chosen its nodePort": func(t *testing.T, collector *v1alpha1.Collector) {
		t.Helper()
		service := get(t, collector, "", &corev1.Service{})
		metav1.SetMetaDataLabel(&service.ObjectMeta, "example.com/team", "a")
		for i := range service.Spec.Ports {
			if service.Spec.Ports[i].Name == "syslog" {
				service.Spec.Ports[i].NodePort = 30007 // which is none of those that the API server chooses at first
			}
		}
		NewWithT(t).Expect(plane.client.Update(t.Context(), service, client.FieldOwner("kubectl-edit"))).To(Succeed())
	},
}

func TestAPortGoesAlsoIfSomebodyElseOwnsItToo(t *testing.T) {
	t.Parallel()
	for name, disturb := range ownToo {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collector := newCollector(newNamespace(t), "gateway")
			collector.Spec.Ports = map[string]v1alpha1.Port{"syslog": {Port: 5514}}
			collector.Spec.Service = &v1alpha1.Service{Type: corev1.ServiceTypeNodePort}
			create(t, collector)
			disturb(t, collector)
			g := NewWithT(t)
			g.Eventually(func() []metav1.ManagedFieldsEntry { return get(t, collector, "", &corev1.Service{}).ManagedFields }).
				Should(ContainElement(HaveField("Manager", "kube8-operator")), "it is repaired")
			touch(t, collector)
			upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Ports = nil })
			becomeReady(t, collector)
			service := get(t, collector, "", &corev1.Service{})
			g.Expect(service.Spec.Ports).NotTo(ContainElement(HaveField("Name", "syslog")))
			g.Expect(service.Labels).To(HaveKeyWithValue("example.com/team", "a"), "what is only somebody else's stays")
			awaitTold(t, collector)
			since := plane.audit.mark(t)
			touch(t, collector)
			g.Expect(plane.audit.writes(t, since, collector.Namespace)).To(BeEmpty())
		})
	}
}
