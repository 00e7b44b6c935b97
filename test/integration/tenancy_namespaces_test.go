package integration

import (
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// labelNamespace sets the label by which a namespace opts in.
func labelNamespace(t *testing.T, namespace, value string) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"labels": {"kube8.dev/tenancy": "`+value+`"}}}`))
	if err := plane.client.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, patch); err != nil {
		t.Fatal(err)
	}
}

func TestTenancyOfSomeNamespaces(t *testing.T) {
	t.Parallel()
	if out, err := kubectl(t, "apply", "-k", "config/tenancy/namespaces"); err != nil {
		t.Fatal(out)
	}
	t.Cleanup(func() {
		if out, err := kubectl(t, "delete", "-k", "config/tenancy/namespaces"); err != nil {
			t.Error(out)
		}
	})
	// Its tenant is acme, which no namespace of the tests is of.
	collector := install(t)
	foreign := func() error {
		return plane.client.Create(t.Context(), newCollector(collector.Namespace, "another"), client.DryRunAll)
	}

	t.Run("one without the label is left alone", func(t *testing.T) {
		NewWithT(t).Expect(foreign()).To(Succeed())
	})
	t.Run("one with the label refuses, whatever the value", func(t *testing.T) {
		for _, value := range []string{"deny", "true", ""} {
			labelNamespace(t, collector.Namespace, value)
			NewWithT(t).Eventually(foreign).Should(MatchError(ContainSubstring("'deny.collector-tenant.kube8.dev' denied request: " +
				`spec.tenant.reference is "acme"; in namespace ` + collector.Namespace + ` it must be "` + collector.Namespace + `"`)))
		}
	})
	t.Run("a Collector that was there before has its status, and goes when it is deleted", func(t *testing.T) {
		g := NewWithT(t)
		edited := get(t, collector, "", &v1alpha1.Collector{})
		edited.Spec.Cluster = "moved"
		g.Expect(plane.client.Update(t.Context(), edited)).NotTo(Succeed())
		pause(t, collector)
		resume(t, collector)
		remove(t, collector)
	})
	t.Run("one where the value is audit refuses nothing", func(t *testing.T) {
		labelNamespace(t, collector.Namespace, "audit")
		NewWithT(t).Eventually(foreign).Should(Succeed())
		create(t, newCollector(collector.Namespace, "another"))
	})
}

// tenantRoles are what tenants have at most: the shipped role, and what the API server puts into Kubernetes' own roles
// edit and admin.
var tenantRoles = []string{"kube8-operator-collector-editor", "system:aggregate-to-edit", "system:aggregate-to-admin"}

func TestATenantCannotChangeItsLimits(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	for _, role := range tenantRoles {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "tenant-"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: namespace}},
		}
		if err := plane.client.Create(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name    string
		request authorizationv1.ResourceAttributes
		allowed bool
	}{
		{"its Collectors", authorizationv1.ResourceAttributes{Namespace: namespace, Group: "kube8.dev", Resource: "collectors"}, true},
		{"ConfigMaps of its own", authorizationv1.ResourceAttributes{Namespace: namespace, Resource: "configmaps"}, true},
		{"the ConfigMap of the limits", authorizationv1.ResourceAttributes{Namespace: systemNamespace, Resource: "configmaps"}, false},
		{"labels and annotations of its namespace", authorizationv1.ResourceAttributes{Namespace: namespace, Name: namespace, Resource: "namespaces"}, false},
	} {
		for _, verb := range []string{"update", "patch"} {
			row.request.Verb = verb
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: namespace, ResourceAttributes: &row.request,
			}}
			// Until the bindings are known, nothing is allowed; the rows that are allowed come first.
			NewWithT(t).Eventually(func(g Gomega) {
				g.Expect(plane.client.Create(t.Context(), review)).To(Succeed())
				g.Expect(review.Status.Allowed).To(Equal(row.allowed), verb+" "+row.name)
			}).Should(Succeed())
		}
	}
}
