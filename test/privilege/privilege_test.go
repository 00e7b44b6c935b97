package privilege

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kube8/kube8-operator/test/audit"
)

const shipped = "../../config/rbac"

func TestTheShippedRolesNameWhatTheyGrant(t *testing.T) {
	roles, err := Roles(shipped)
	if err != nil {
		t.Fatal(err)
	}
	if len(roles) != 5 {
		t.Errorf("got %d roles, want those of the manager, of access reviews, of the rollout, of bases and of leader election", len(roles))
	}
	for _, role := range roles {
		for _, right := range role.rights() {
			for _, word := range []string{right.Verb, right.Group, right.Resource} {
				switch word {
				case "*", "escalate", "bind", "impersonate", "rbac.authorization.k8s.io":
					t.Errorf("%s: %q is not for an operator", right, word)
				}
			}
		}
		for _, rule := range role.Rules {
			if len(rule.NonResourceURLs) > 0 {
				t.Errorf("%s: nothing proves that %v is used", role.File, rule.NonResourceURLs)
			}
		}
	}
}

const rules = `
kind: Role
metadata: {name: leader}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [one, two], verbs: [get]}
---
kind: ClusterRole
metadata: {name: manager}
rules:
- {apiGroups: [""], resources: [secrets, pods/log], verbs: [get, list]}
---
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get]}
---
kind: RoleBinding
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: leader}
subjects: [{kind: ServiceAccount, name: controller-manager}]
---
kind: ClusterRoleBinding
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: manager}
subjects: [{kind: ServiceAccount, name: controller-manager}]
---
kind: ClusterRoleBinding
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{kind: User, name: somebody}]
`

// answer is one answer to the operator of the namespace system, or to another user.
func answer(verb, group, resource, namespace, name, decision string, code int) audit.Request {
	r := audit.Request{Stage: "ResponseComplete", Verb: verb, Annotations: map[string]string{"authorization.k8s.io/decision": decision}}
	r.User.Username = "system:serviceaccount:system:" + account
	r.ObjectRef.APIGroup, r.ObjectRef.Namespace, r.ObjectRef.Name = group, namespace, name
	r.ObjectRef.Resource, r.ObjectRef.Subresource, _ = strings.Cut(resource, "/")
	r.ResponseStatus.Code, r.ResponseStatus.Message = code, "because of the test"
	return r
}

func TestARightIsUsedByTheRequestThatItAllows(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "roles.yaml"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	roles, err := Roles(folder)
	if err != nil {
		t.Fatal(err)
	}
	uses := []audit.Request{
		answer("create", "coordination.k8s.io", "leases", "system", "", "allow", 201),
		answer("get", "coordination.k8s.io", "leases", "system", "one", "allow", 200),
		answer("get", "coordination.k8s.io", "leases", "system", "two", "allow", 404),
		answer("get", "", "secrets", "tenant", "a", "allow", 200),
		answer("list", "", "secrets", "", "", "allow", 200),
		answer("get", "", "pods/log", "tenant", "a", "allow", 200),
	}
	lastRight := Use{"list", "", "pods/log"}
	if err := Unused(roles, uses, lastRight); err != nil {
		t.Errorf("all rights are used, but for the nodes, which are not the operator's: %v", err)
	}
	watches := slices.Clone(uses)
	for i := range watches {
		if watches[i].Verb == "list" {
			watches[i].Verb = "watch"
		}
	}
	if err := Unused(roles, append(watches, uses[0]), lastRight); err != nil {
		t.Errorf("an informer may watch in place of listing: %v", err)
	}
	const unused = "roles.yaml: ClusterRole manager, rule 1: verb list on pods/log"
	if err := Unused(roles, uses); err == nil || !strings.HasSuffix(err.Error(), unused) || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v, want %s", err, unused)
	}
	for name, request := range map[string]audit.Request{
		"of another object":       answer("get", "coordination.k8s.io", "leases", "system", "three", "allow", 200),
		"of another group":        answer("get", "", "leases", "system", "one", "allow", 200),
		"in another namespace":    answer("get", "coordination.k8s.io", "leases", "tenant", "one", "allow", 200),
		"of another verb":         answer("update", "coordination.k8s.io", "leases", "system", "one", "allow", 200),
		"of a subresource":        answer("get", "coordination.k8s.io", "leases/status", "system", "one", "allow", 200),
		"that was not authorized": answer("get", "coordination.k8s.io", "leases", "system", "one", "forbid", 403),
	} {
		others := append([]audit.Request{request, uses[0]}, uses[2:]...)
		if err := Unused(roles, others, lastRight); err == nil || !strings.HasSuffix(err.Error(), "rule 2: verb get on leases of coordination.k8s.io named one") {
			t.Errorf("a request %s uses the right: %v", name, err)
		}
	}
}

func TestARefusalIsAnErrorUnlessATestWantsIt(t *testing.T) {
	expected := Refusal{Message: "because of the test", Test: "this"}
	for _, row := range []struct {
		name     string
		decision string
		code     int
		expected []Refusal
		want     bool
	}{
		{"an answer", "allow", 200, nil, false},
		{"not found", "allow", 404, nil, false},
		{"refused by the roles", "forbid", 403, nil, true},
		{"refused by the roles, in the words of a test", "forbid", 403, []Refusal{expected}, true},
		{"refused by admission", "allow", 403, nil, true},
		{"refused by admission, in the words of a test", "allow", 403, []Refusal{expected}, false},
		{"refused by admission, in other words", "allow", 403, []Refusal{{Message: "other", Test: "that"}}, true},
	} {
		err := Refused([]audit.Request{answer("get", "", "secrets", "tenant", "a", row.decision, row.code)}, row.expected...)
		if (err != nil) != row.want {
			t.Errorf("%s: got %v", row.name, err)
		}
	}
}

func TestOnlyAnswersToOperatorsCount(t *testing.T) {
	received, other := answer("get", "", "a", "b", "c", "allow", 200), answer("get", "", "a", "b", "c", "allow", 200)
	received.Stage, other.User.Username = "RequestReceived", "system:serviceaccount:system:other"
	if got := OfOperators([]audit.Request{received, other, answer("list", "", "a", "b", "c", "allow", 200)}); len(got) != 1 || got[0].Verb != "list" {
		t.Errorf("got %v", got)
	}
}
