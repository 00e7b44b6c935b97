package integration

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rulesWithout returns all that the operator may do, without a resource.
func rulesWithout(t *testing.T, resource string) []rbacv1.PolicyRule {
	t.Helper()
	rules := operatorsRules(t)
	for i := range rules {
		rules[i].Resources = slices.DeleteFunc(rules[i].Resources, func(name string) bool { return name == resource })
	}
	return slices.DeleteFunc(rules, func(rule rbacv1.PolicyRule) bool { return len(rule.Resources) == 0 })
}

// Its informer cache would wait for the right for ever, and its pod would count as ready and replace that of the operator before.
func TestAnOperatorForAllNamespacesEndsWithoutARight(t *testing.T) {
	t.Parallel()
	o := &operator{binary: shared.binary, account: accountWith(t, rulesWithout(t, "jobs")...)}
	g := NewWithT(t)
	g.Expect(o.start(t.Context())).To(MatchError(ContainSubstring("the operator ended")))
	g.Expect(o.log.tail("")).To(And(ContainSubstring("jobs.batch is forbidden"), ContainSubstring("apply the roles of this version of the operator")))
}

func TestANamespaceWithoutARightKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	lacking, served, g := newNamespace(t), newNamespace(t), NewWithT(t)
	account := accountIn(t, []string{served}, rulesWithout(t, "")...)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: lacking, Name: "operator"}, Rules: rulesWithout(t, "configmaps")}
	g.Expect(plane.client.Create(t.Context(), role)).To(Succeed())
	g.Expect(plane.client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: lacking, Name: "operator"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	})).To(Succeed())
	o := &operator{
		binary: shared.binary, account: account, watchNamespace: lacking + "," + served, args: []string{"--bases-namespace=" + served},
	}
	g.Expect(o.start(t.Context())).To(Succeed())
	t.Cleanup(func() { g.Expect(o.stop()).To(Succeed()) })
	g.Eventually(o.log.about).WithArguments("").WithTimeout(time.Minute).Should(
		And(ContainSubstring("left out a namespace of WATCH_NAMESPACE"), ContainSubstring("Starting workers")), "it works in the other namespace")
}
