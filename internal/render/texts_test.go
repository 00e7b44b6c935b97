package render

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/specpath"
)

// renderWith renders a Collector that has some fields, as the operator does: the API server has checked them.
func renderWith(c *Chart, fields map[string]any) (*Rendered, error) {
	c.Schema = nil
	fields["collector"] = map[string]any{"name": "x/y", "version": "1"}
	fields["tenant"], fields["cluster"] = map[string]any{"id": "1", "reference": "a"}, "c"
	return c.Render(types.NamespacedName{Namespace: "acme", Name: "gateway"}, fields, helm.DefaultCapabilities, postrender.Renderer{})
}

// TestTextsComeOutAsTheSpecHasThem has texts of any kind where the spec takes any, as values and as keys: what is rendered has them, and
// nothing else, or the chart refuses them.
func TestTextsComeOutAsTheSpecHasThem(t *testing.T) {
	c := collectorsChart(t)
	parts := append(strings.Split("ab10ex\n\n\t\r\"':#-\\%&*!|>{}[]?@`é😀\u00a0\ufeff~=./", ""),
		" ", "  ", ": ", " #", "- ", "---", "\n---\n", "null", "true", "on", "<<", "\nhostPID: true", "{{ x }}", strings.Repeat("many words ", 12),
		"\u2028", "\u2029", "\u0085", "\x7f", "<no value>")
	const odd = 5 // of them, which most seeds go without
	refused := 0
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 30))
		some := parts[:len(parts)-odd+max(0, random.IntN(2*odd+1)-odd)]
		text := func() any {
			var made strings.Builder
			for range random.IntN(7) {
				made.WriteString(some[random.IntN(len(some))])
			}
			return made.String()
		}
		fields := func() map[string]any {
			made := map[string]any{}
			for range 1 + random.IntN(3) {
				key, _ := text().(string)
				made["k"+key] = text()
			}
			return made
		}
		annotations, selector, args := fields(), fields(), []any{text(), text()}
		variable := map[string]any{"name": "A", "value": text()}
		volume := map[string]any{"name": "v", "csi": map[string]any{"driver": text(), "volumeAttributes": fields()}}
		toleration := map[string]any{"key": text(), "value": text()}
		beside := map[string]any{"name": "b", "image": "b", "command": []any{text()}, "env": []any{map[string]any{"name": "B", "value": text()}}}
		rendered, err := renderWith(c, map[string]any{
			"podAnnotations": annotations, "nodeSelector": selector, "args": args, "env": []any{variable}, "extraVolumes": []any{volume},
			"tolerations": []any{toleration}, "extraContainers": []any{beside},
		})
		if err != nil {
			if _, isRefusal := errors.AsType[*specpath.FieldsError](err); !isRefusal {
				t.Fatalf("seed %d: the error names no field: %v", seed, err)
			}
			refused++
			continue
		}
		for _, object := range rendered.Objects {
			if object.GetKind() != "Deployment" {
				continue
			}
			pod, _, _ := unstructured.NestedMap(object.Object, "spec", "template", "spec")
			containers := asList(pod["containers"])
			own, _ := containers[0].(map[string]any)
			environment, volumes := asList(own["env"]), asList(pod["volumes"])
			stamped, _, _ := unstructured.NestedMap(object.Object, "spec", "template", "metadata", "annotations")
			for what, pair := range map[string][2]any{
				"annotations": {stamped, annotations}, "selector": {pod["nodeSelector"], selector}, "args": {own["args"], args},
				"env": {environment[len(environment)-1], variable}, "volumes": {volumes[len(volumes)-1], volume},
				"tolerations": {pod["tolerations"], []any{toleration}}, "another container": {containers[1], beside}, "hostPID": {pod["hostPID"], nil},
			} {
				if !reflect.DeepEqual(pair[0], pair[1]) {
					t.Errorf("seed %d: %s are %q, want %q", seed, what, pair[0], pair[1])
				}
			}
		}
	}
	if refused > 2000 {
		t.Errorf("%d of 3,000 are refused", refused)
	}
}

func TestALongKeyIsRefused(t *testing.T) {
	for length, want := range map[int]string{longestKey: "<nil>", longestKey + 1: "spec.nodeSelector: has a key of more than 1000 characters; shorten it"} {
		values := map[string]any{"args": []any{"a"}, "nodeSelector": map[string]any{"a": []any{map[string]any{strings.Repeat("x", length): ""}}}}
		if err := checkKeys(values); fmt.Sprint(err) != want {
			t.Errorf("%d: %v, want %s", length, err, want)
		}
	}
}

func TestWhatIsRenderedCanBeReadFromItsRecord(t *testing.T) {
	c := collectorsChart(t)
	for length, want := range map[int]string{
		190000: "", 210000: "spec: has more than 200000 line ends and characters , : - [ { ?, so its record could not be read; shorten its texts",
	} {
		rendered, err := renderWith(c, map[string]any{
			"podAnnotations": map[string]any{"a": strings.Repeat(",", length)},
		})
		if err == nil {
			_, err = ParseRecorded(rendered.Public())
		}
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%d: %v, want %q", length, err, want)
		}
	}
}
