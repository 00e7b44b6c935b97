package kubectl

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestADifferenceShowsNothingThatMayBeConfidential(t *testing.T) {
	const spec = `{env: [{name: TOKEN, value: hunter2}, {name: OTHER, value: hunter2}], args: [--token=hunter2], podAnnotations: {a: hunter2},
		autoscaling: {keda: {triggers: [{type: kafka, metadata: {host: hunter2}}]}}, replicas: 2,
		collector: {version: 0.150.0, configuration: aHVudGVyMgo=, files: {a: aHVudGVyMgo=}}}`
	other := strings.NewReplacer("TOKEN, value: hunter2", "TOKEN, value: hunter3", "token=hunter2", "token=hunter3", "a: hunter2", "a: hunter3",
		"host: hunter2", "host: hunter3", "replicas: 2", "replicas: 3", "aHVudGVyMgo=", "aHVudGVyMwo=").Replace(spec)
	read := func(text string) (fields map[string]any) {
		if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
			t.Fatal(err)
		}
		return fields
	}
	objects := func(spec string) []*unstructured.Unstructured {
		text := "{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {a: hunter2}}, spec: " + spec + "}"
		return []*unstructured.Unstructured{{Object: read(text)}, {Object: read("{apiVersion: v1, kind: Secret, metadata: {name: b}, data: {a: aHVudGVyMgo=}}")}}
	}
	for what, compare := range map[string]func(from, to string) (string, error){
		"specs":   func(from, to string) (string, error) { return differenceOf("a", "b", read(from), read(to)) },
		"objects": func(from, to string) (string, error) { return differenceOfObjects("a", objects(from), objects(to)) },
	} {
		text, err := compare(spec, other)
		if err != nil || strings.Contains(text, "hunter") || strings.Contains(text, "aHVu") {
			t.Errorf("%s, %v:\n%s", what, err, text)
		}
		changed := map[string]int{"specs": 4, "objects": 6}[what] // the stand-ins tell two
		if got := strings.Count(text, "(changed)"); got != changed || !strings.Contains(text, "replicas: 3\n") {
			t.Errorf("%s: %d texts are changed, want %d, in\n%s", what, got, changed, text)
		}
		if text, err := compare(spec, spec); err != nil || text != "" {
			t.Errorf("equal %s, %v:\n%s", what, err, text)
		}
	}
	if text, err := differenceOf("a", "b", nil, read(spec)); err != nil || strings.Contains(text, "hunter") || !strings.Contains(text, "+replicas: 2\n") {
		t.Errorf("a new one, %v:\n%s", err, text)
	}
}
