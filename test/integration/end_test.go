package integration

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An operator whose lists are refused waits for its informer cache.
func TestAnOperatorEndsThatNeverSawItsObjects(t *testing.T) {
	g := NewWithT(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(t), Name: "with-little"}}
	g.Expect(plane.client.Create(t.Context(), account)).To(Succeed())
	name := account.Namespace
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
	role.Rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets", "namespaces"}, Verbs: []string{"list", "watch"}}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: name}}
	binding.Subjects = []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: name, Name: account.Name}}
	for _, object := range []client.Object{role, binding} {
		g.Expect(plane.client.Create(t.Context(), object)).To(Succeed())
		t.Cleanup(func() { g.Expect(plane.client.Delete(context.Background(), object)).To(Succeed()) })
	}
	powerless := &operator{binary: shared.binary, account: client.ObjectKeyFromObject(account)}
	g.Expect(powerless.start(t.Context())).To(Succeed())
	g.Eventually(func() string { return powerless.log.about(name) }).Should(ContainSubstring("is forbidden"))
	asked := time.Now()
	g.Expect(powerless.stop()).To(Succeed())
	g.Expect(time.Since(asked)).To(BeNumerically("<", 20*time.Second))
}

// Not parallel: it takes a right from each operator.
func TestAnOperatorThatMayNotListMonitorsReconcilesTheRest(t *testing.T) {
	collector := install(t)
	withoutRights(t, "monitoring.coreos.com")
	for range 3 { // what begins first is another one each time
		nextOperator(t, collector, func() {})
	}
	install(t)
}

// withoutRights takes what the operator may do with an API group, until the test ends.
func withoutRights(t *testing.T, group string) {
	t.Helper()
	g := NewWithT(t)
	var roles rbacv1.ClusterRoleList
	g.Expect(plane.client.List(t.Context(), &roles)).To(Succeed())
	isOf := func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.APIGroups, group) }
	taken := 0
	for i := range roles.Items {
		role := &roles.Items[i]
		rules := role.Rules
		role.Rules = slices.DeleteFunc(slices.Clone(rules), isOf)
		if !strings.HasPrefix(role.Name, "kube8-operator") || len(role.Rules) == len(rules) {
			continue
		}
		taken++
		g.Expect(plane.client.Update(t.Context(), role)).To(Succeed())
		t.Cleanup(func() {
			role.Rules = rules
			err := plane.client.Update(context.Background(), role)
			// The operator would list them too, in a while; tests that come do not wait so long.
			if err = errors.Join(err, shared.stop(), shared.start(context.Background())); err != nil {
				t.Error(err)
			}
		})
	}
	g.Expect(taken).To(BeNumerically(">", 0), "roles with rights to %s", group)
}
