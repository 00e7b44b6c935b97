package privilege

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kube8/kube8-operator/test/audit"
)

// shippedAccount is what the operator's ServiceAccount is called in config/rbac, without config/default's prefix.
const shippedAccount = "controller-manager"

// Role is a Role or ClusterRole that is bound to the operator.
type Role struct {
	rbacv1.ClusterRole // a Role has the same rules
	File               string
}

// document is a Role, a ClusterRole or a binding of one.
type document struct {
	rbacv1.ClusterRole
	RoleRef  rbacv1.RoleRef   `json:"roleRef"`
	Subjects []rbacv1.Subject `json:"subjects"`
}

// Roles reads the roles of a folder that its bindings give to the operator, and returns an error if there are none.
func Roles(folder string) ([]Role, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var all []Role
	bound := map[rbacv1.RoleRef]bool{}
	for _, file := range files {
		documents, err := read(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		for _, d := range documents {
			if slices.ContainsFunc(d.Subjects, func(s rbacv1.Subject) bool { return s.Name == shippedAccount }) {
				bound[d.RoleRef] = true
			}
			if len(d.Rules) > 0 {
				all = append(all, Role{d.ClusterRole, file})
			}
		}
	}
	all = slices.DeleteFunc(all, func(r Role) bool {
		return !bound[rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: r.Kind, Name: r.Name}]
	})
	if len(all) == 0 {
		return nil, fmt.Errorf("%s binds no role to ServiceAccount %s", folder, shippedAccount)
	}
	return all, nil
}

func read(file string) (found []document, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
	for {
		var d document
		if err := decoder.Decode(&d); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		found = append(found, d)
	}
}

// right is the smallest part of a rule.
type right struct {
	Use
	object string // of this name only, unless empty
	role   Role
	rule   int // counted from 1
}

func (r Role) rights() (all []right) {
	for i, rule := range r.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, object := range append(slices.Clip(rule.ResourceNames), "")[:max(1, len(rule.ResourceNames))] {
						all = append(all, right{Use{verb, group, resource}, object, r, i + 1})
					}
				}
			}
		}
	}
	return all
}

// isUsedBy says whether the request is one that the right allows.
func (r right) isUsedBy(request audit.Request) bool {
	ref, verb := request.ObjectRef, request.Verb
	if verb == "patch" && request.ResponseStatus.Code == 201 && r.Verb == "create" {
		verb = "create" // an apply that creates asks for both
	}
	if verb == "watch" && r.Verb == "list" {
		verb = "list" // an informer lists where the API server does not stream what there is
	}
	return request.Annotations["authorization.k8s.io/decision"] == "allow" &&
		r.Use == Use{verb, ref.APIGroup, request.Resource()} &&
		(r.object == "" || r.object == ref.Name) &&
		(r.role.Kind == "ClusterRole" || ref.Namespace == namespaceOf(request)) // a Role is for the operator's own namespace
}

func (r right) String() string {
	of := ""
	if r.Group != "" {
		of = " of " + r.Group
	}
	if r.object != "" {
		of += " named " + r.object
	}
	return fmt.Sprintf("%s: %s %s, rule %d: verb %s on %s%s", r.role.File, r.role.Kind, r.role.Name, r.rule, r.Verb, r.Resource, of)
}
