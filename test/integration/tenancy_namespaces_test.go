package integration

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
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

// bindTenantRoles gives a tenant its roles in its namespace.
func bindTenantRoles(t *testing.T, namespace string, tenant rbacv1.Subject) {
	t.Helper()
	for _, role := range tenantRoles {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "tenant-"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{tenant},
		}
		if err := plane.client.Create(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
	}
}

func TestATenantCannotChangeItsLimits(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	bindTenantRoles(t, namespace, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: namespace})
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

func TestATenantNeitherReadsBasesNorChoosesThoseOfItsNamespace(t *testing.T) {
	t.Parallel()
	g, namespace := NewWithT(t), newNamespace(t)
	meta := metav1.ObjectMeta{Namespace: systemNamespace, Name: "t-unread", Labels: map[string]string{v1alpha1.BaseLabel: "first"}}
	part := map[string]string{"part.yaml": "a: b"}
	for _, base := range []client.Object{&corev1.ConfigMap{ObjectMeta: meta, Data: part}, &corev1.Secret{ObjectMeta: meta, StringData: part}} {
		g.Expect(plane.client.Create(t.Context(), base)).To(Succeed())
		t.Cleanup(func() { _ = plane.client.Delete(context.Background(), base) })
	}
	config := rest.AnonymousClientConfig(plane.env.Config)
	config.BearerToken = token(t, namespace, "tenant")
	bindTenantRoles(t, namespace, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "tenant"})
	tenant, err := client.New(config, client.Options{Scheme: plane.client.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	own := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "own"}}
	g.Eventually(func() error { return tenant.Create(t.Context(), own.DeepCopy()) }).Should(Succeed(), "the bindings are known")

	labelled := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	operators := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: systemNamespace}}
	forged := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "t-forged", Labels: meta.Labels}, Data: part}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"`+v1alpha1.BasesLabel+`": "t-unread"}}}`))
	key, all := client.ObjectKey{Namespace: systemNamespace, Name: meta.Name}, client.InNamespace(systemNamespace)
	for name, try := range map[string]func() error{
		"read a ConfigMap":               func() error { return tenant.Get(t.Context(), key, &corev1.ConfigMap{}) },
		"list ConfigMaps":                func() error { return tenant.List(t.Context(), &corev1.ConfigMapList{}, all) },
		"read a Secret":                  func() error { return tenant.Get(t.Context(), key, &corev1.Secret{}) },
		"list Secrets":                   func() error { return tenant.List(t.Context(), &corev1.SecretList{}, all) },
		"write a base":                   func() error { return tenant.Create(t.Context(), forged.DeepCopy()) },
		"label a namespace":              func() error { return tenant.Patch(t.Context(), labelled.DeepCopy(), patch) },
		"label the operator's namespace": func() error { return tenant.Patch(t.Context(), operators.DeepCopy(), patch) },
	} {
		g.Expect(apierrors.IsForbidden(try())).To(BeTrue(), name)
	}
	// In its own namespace the label makes no base: there the operator looks for none.
	own.Labels, own.Data = meta.Labels, part
	g.Expect(tenant.Update(t.Context(), own)).To(Succeed())
	collector := newCollector(namespace, "gateway")
	collector.Spec.Collector.Bases = []v1alpha1.Base{{Name: own.Name}}
	g.Expect(tenant.Create(t.Context(), collector)).To(Succeed())
	awaitRefusal(t, collector, "ConfigMissing", `spec.collector.bases: namespace `+systemNamespace+` has no base "own"`)
}
