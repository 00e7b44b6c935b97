package integration

import (
	"context"
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
