package kustomize

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// divided returns the folder of an overlay for one of several operators, as docs/how-to/several-operators.md has it, upon this tree's config/default.
func divided(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/how-to/several-operators.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Several operators\n")
	_, block, _ := strings.Cut(section, "```yaml\n")
	block, _, found := strings.Cut(block, "```\n")
	folder := t.TempDir()
	base, err := filepath.Abs("../../config/default")
	if err == nil {
		base, err = filepath.Rel(folder, base)
	}
	if err != nil || !found {
		t.Fatalf("there is no kustomization: %v", err)
	}
	block = strings.Replace(block, "https://github.com/kube8/kube8-operator/config/default?ref=v0.1.0", base, 1)
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestEachOfSeveralOperatorsHasItsOwnObjectsAndNoCRD(t *testing.T) {
	objects, err := Build(divided(t))
	if err != nil {
		t.Fatal(err)
	}
	const home = "kube8-operator-north"
	kinds := map[string]bool{}
	for _, object := range objects {
		kind, name := object.GetKind(), object.GetName()
		kinds[kind] = true
		if namespace := object.GetNamespace(); namespace != "" && namespace != home {
			t.Errorf("%s %s is in namespace %s", kind, name, namespace)
		}
		if kind == "Namespace" && name != home || kind != "Namespace" && !strings.HasPrefix(name, "north-") {
			t.Errorf("%s %s can be another operator's", kind, name)
		}
		subjects, _, _ := unstructured.NestedSlice(object.Object, "subjects")
		for _, subject := range subjects {
			if account, _ := subject.(map[string]any); account["namespace"] != home {
				t.Errorf("%s %s gives rights to %v", kind, name, account)
			}
		}
		containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		isListed := func(container any) bool {
			env, _, _ := unstructured.NestedSlice(container.(map[string]any), "env") //nolint:forcetypeassert // it is of a Deployment
			return slices.ContainsFunc(env, func(variable any) bool {
				set, _ := variable.(map[string]any)
				return set["name"] == "WATCH_NAMESPACE" && set["value"] == "team-a,team-b"
			})
		}
		if kind == "Deployment" && !slices.ContainsFunc(containers, isListed) {
			t.Errorf("Deployment %s does not list the namespaces", name)
		}
	}
	if !kinds["Deployment"] || !kinds["ClusterRoleBinding"] || !kinds["Role"] || kinds["CustomResourceDefinition"] {
		t.Errorf("the kinds are %v", kinds)
	}
}
