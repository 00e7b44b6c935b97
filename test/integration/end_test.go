package integration

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// An operator whose lists are refused waits for its informer cache.
func TestAnOperatorEndsThatNeverSawItsObjects(t *testing.T) {
	g := NewWithT(t)
	rules := operatorsRules(t) // it may list its objects, and not watch them
	for i := range rules {
		rules[i].Verbs = slices.DeleteFunc(rules[i].Verbs, func(verb string) bool { return verb == "watch" })
	}
	account := accountWith(t, rules...)
	powerless := &operator{binary: shared.binary, account: account}
	g.Expect(powerless.start(t.Context())).To(Succeed())
	g.Eventually(func() string { return powerless.log.about(account.Namespace) }).Should(ContainSubstring("is forbidden"))
	asked := time.Now()
	g.Expect(powerless.stop()).To(Succeed())
	g.Expect(time.Since(asked)).To(BeNumerically("<", 20*time.Second))
}

// operatorsRules returns all that the operator may do.
func operatorsRules(t *testing.T) (rules []rbacv1.PolicyRule) {
	t.Helper()
	g := NewWithT(t)
	var all rbacv1.ClusterRoleList
	var own rbacv1.RoleList
	g.Expect(plane.client.List(t.Context(), &all)).To(Succeed())
	g.Expect(plane.client.List(t.Context(), &own, client.InNamespace(systemNamespace))).To(Succeed())
	for _, role := range all.Items {
		if strings.HasPrefix(role.Name, "kube8-operator") {
			rules = append(rules, role.Rules...)
		}
	}
	for _, role := range own.Items {
		rules = append(rules, role.Rules...)
	}
	return rules
}

// Not parallel: another operator takes the place of the shared one.
func TestAnOperatorThatMayNotListMonitorsReconcilesTheRest(t *testing.T) {
	g := NewWithT(t)
	collector := install(t)
	rules := operatorsRules(t)
	count := len(rules)
	rules = slices.DeleteFunc(rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.APIGroups, "monitoring.coreos.com") })
	g.Expect(len(rules)).To(BeNumerically("<", count))

	other := &operator{binary: shared.binary, account: accountWith(t, rules...)}
	g.Expect(shared.stop()).To(Succeed())
	t.Cleanup(func() { startAgain(t) })
	for range 3 { // what begins first is another one each time
		forgetLeader(t)
		since := other.log.mark()
		g.Expect(other.start(t.Context())).To(Succeed())
		other.awaitReconcile(t, since, client.ObjectKeyFromObject(collector))
		g.Expect(other.stop()).To(Succeed())
	}
}

// Not parallel: another operator takes the place of the shared one.
func TestAnOperatorThatMayNotWorkInOneNamespaceWorksInTheOthers(t *testing.T) {
	g := NewWithT(t)
	first, second := newCollector(newNamespace(t), "gateway"), newCollector(newNamespace(t), "gateway")
	other := &operator{binary: shared.binary, watchNamespace: first.Namespace + "," + second.Namespace}
	other.account = accountIn(t, []string{first.Namespace, second.Namespace, systemNamespace}, operatorsRules(t)...)
	g.Expect(shared.stop()).To(Succeed())
	t.Cleanup(func() { startAgain(t) })
	binding := &rbacv1.RoleBinding{}
	g.Expect(plane.client.Get(t.Context(), client.ObjectKey{Namespace: second.Namespace, Name: other.account.Namespace}, binding)).To(Succeed())
	g.Expect(plane.client.Delete(t.Context(), binding)).To(Succeed()) // which its admin may do
	for _, collector := range []*v1alpha1.Collector{first, second} {
		g.Expect(plane.client.Create(t.Context(), collector)).To(Succeed())
	}
	g.Expect(other.start(t.Context())).To(Succeed())
	awaitRevision(t, first, 1)
	g.Expect(other.log.about(second.Namespace)).To(ContainSubstring("bind the operator's role there"))
	binding.ResourceVersion = ""
	g.Expect(plane.client.Create(t.Context(), binding)).To(Succeed())
	g.Eventually(other.ended).WithTimeout(30 * time.Second).Should(Receive()) // and Kubernetes starts it again
	g.Expect(other.start(t.Context())).To(Succeed())
	awaitRevision(t, second, 1)
	g.Expect(other.stop()).To(Succeed())
}

// accountWith returns a ServiceAccount in a namespace of its own that may do something, until the test ends.
func accountWith(t *testing.T, rules ...rbacv1.PolicyRule) types.NamespacedName {
	t.Helper()
	return accountIn(t, nil, rules...)
}

// accountIn is accountWith for some namespaces only.
func accountIn(t *testing.T, namespaces []string, rules ...rbacv1.PolicyRule) types.NamespacedName {
	t.Helper()
	g := NewWithT(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(t), Name: "with-little"}}
	g.Expect(plane.client.Create(t.Context(), account)).To(Succeed())
	name := account.Namespace
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	isOf, by := rbacv1.RoleRef{Kind: "ClusterRole", Name: name}, []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: name, Name: account.Name}}
	objects := []client.Object{role}
	for _, namespace := range namespaces {
		binding := metav1.ObjectMeta{Namespace: namespace, Name: name}
		objects = append(objects, &rbacv1.RoleBinding{ObjectMeta: binding, RoleRef: isOf, Subjects: by})
	}
	if len(namespaces) == 0 {
		objects = append(objects, &rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta, RoleRef: isOf, Subjects: by})
	}
	for _, object := range objects {
		g.Expect(plane.client.Create(t.Context(), object)).To(Succeed())
		t.Cleanup(func() { g.Expect(plane.client.Delete(context.Background(), object)).To(Succeed()) })
	}
	return client.ObjectKeyFromObject(account)
}
