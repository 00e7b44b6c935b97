package integration

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/privilege"
)

// proven are rights that no request of the operator shows, and of which a test has shown that they are needed.
var proven []privilege.Use

// It is the only one that adds to what is proven. The API server asks for this right when it admits what the operator creates.
func TestAnOwnerReferenceThatBlocksDeletionNeedsTheRuleForFinalizers(t *testing.T) {
	t.Parallel()
	finalizers := privilege.Use{Verb: "update", Group: v1alpha1.GroupVersion.Group, Resource: "collectors/finalizers"}
	roles, err := privilege.Roles("config/rbac")
	if err != nil {
		t.Fatal(err)
	}
	rules := roles[slices.IndexFunc(roles, func(r privilege.Role) bool { return r.Name == "manager-role" })].Rules
	without := slices.DeleteFunc(slices.Clone(rules), func(r rbacv1.PolicyRule) bool { return r.Resources[0] == finalizers.Resource })
	g, collector := NewWithT(t), install(t)
	g.Expect(without).To(HaveLen(len(rules) - 1))
	owned := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: collector.Namespace, Name: "owned",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(collector, v1alpha1.GroupVersion.WithKind("Collector"))},
	}}
	createAs := func(account string, rules []rbacv1.PolicyRule) error {
		as := as(t, collector.Namespace, account, rules)
		g.Eventually(func() error {
			return as.List(t.Context(), &corev1.SecretList{}, client.InNamespace(collector.Namespace))
		}).
			Should(Succeed(), "the binding is known")
		return as.Create(t.Context(), owned.DeepCopy(), client.DryRunAll)
	}
	g.Expect(createAs("with", rules)).To(Succeed())
	g.Expect(createAs("without", without)).To(MatchError(ContainSubstring("cannot set blockOwnerDeletion")))
	if !t.Failed() {
		proven = append(proven, finalizers)
	}
}

// as returns a client of a new ServiceAccount that has some rules in its namespace.
func as(t *testing.T, namespace, name string, rules []rbacv1.PolicyRule) client.Client {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	token := token(t, namespace, name)
	for _, object := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
		},
	} {
		if err := plane.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	config := rest.AnonymousClientConfig(plane.env.Config)
	config.BearerToken = token
	as, err := client.New(config, client.Options{Scheme: plane.client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return as
}
