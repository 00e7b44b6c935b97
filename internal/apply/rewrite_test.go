package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestAMergeRemovesWhatAnApplyRemoves(t *testing.T) {
	const entry = `metadata: {managedFields: [{manager: kube8-operator, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": `
	for name, row := range map[string]struct{ applied, current, content, want string }{
		"nothing, if all fields stay": {`{"f:type": {}}`, "{type: A}", "{type: B}", "{type: B}"},
		"a field":                     {`{"f:type": {}, "f:class": {}}`, "{type: A, class: a}", "{type: A}", "{type: A, class: null}"},
		"a key of a map that others have keys in, too": {
			`{"f:limits": {"f:cpu": {}}}`, "{limits: {cpu: 1, memory: 2}}", "{type: A}", "{type: A, limits: {cpu: null}}",
		},
		"a map that is empty without it": {`{"f:hook": {"f:sleep": {"f:seconds": {}}}}`, "{hook: {sleep: {seconds: 1}}}", "{type: A}", "{type: A, hook: null}"},
		"no map that the content has":    {`{"f:hook": {"f:sleep": {}}}`, "{hook: {sleep: 1}}", "{hook: {}}", "{hook: {sleep: null}}"},
		"no field that another client owns, and nothing of an item": {
			`{"f:ports": {"k:{\"port\":1}": {"f:name": {}}}}`, "{class: a, ports: [{port: 1, name: a}]}", "{ports: [{port: 1}]}", "{ports: [{port: 1}]}",
		},
		"not the number of pods, which is handed over": {`{"f:type": {}, "f:replicas": {}}`, "{type: A, replicas: 10}", "{type: B}", "{type: B}"},
		"a field that has gone already":                {`{"f:class": {}}`, "{}", "{type: A}", "{type: A, class: null}"},
	} {
		object := func(text string) *unstructured.Unstructured {
			made := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text), &made.Object); err != nil {
				t.Fatal(err)
			}
			return made
		}
		current := object(entry + row.applied + "}}]}\nspec: " + row.current)
		got := withoutDropped(object("spec: "+row.content), current)
		if diff := cmp.Diff(object("spec: "+row.want).Object, got.Object); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
