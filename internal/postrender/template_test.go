package postrender

import (
	"strings"
	"testing"
)

// stampOf returns the stamp that a Deployment gets, and its manifest.
func stampOf(t *testing.T, manifest string) (stamp, text string) {
	t.Helper()
	documents, err := Renderer{}.Finish(manifest)
	if err != nil {
		t.Fatal(err)
	}
	text = documents[0].Text
	_, after, _ := strings.Cut(text, TemplateAnnotation+": ")
	stamp, _, _ = strings.Cut(after, "\n")
	return strings.Trim(stamp, `"'`), text
}

func TestATemplateIsStampedWhereTheChartAsksForIt(t *testing.T) {
	const manifest = `kind: Deployment
metadata: {name: a}
spec:
  replicas: 1
  template:
    metadata:
      annotations:
        kube8.dev/template: ""
    spec:
      containers:
      - name: c
        image: one
`
	stamp, text := stampOf(t, manifest)
	if len(stamp) != templateLength {
		t.Fatalf("stamp %q in\n%s", stamp, text)
	}
	for name, row := range map[string]struct {
		manifest string
		isSame   bool
	}{
		"what was stamped before keeps its stamp":   {text, true},
		"the number of pods is not in the template": {strings.Replace(manifest, "replicas: 1", "replicas: 2", 1), true},
		"the layout does not count":                 {strings.Replace(manifest, "- name: c\n        image: one", "- image: \"one\"\n        name: c", 1), true},
		"another image has another stamp":           {strings.Replace(manifest, "image: one", "image: two", 1), false},
	} {
		if again, _ := stampOf(t, row.manifest); (again == stamp) != row.isSame {
			t.Errorf("%s: stamp %s, and before %s", name, again, stamp)
		}
	}
	without := strings.Replace(manifest, `kube8.dev/template: ""`, "other: a", 1)
	if _, text := stampOf(t, without); text != without {
		t.Errorf("a template without the annotation became\n%s", text)
	}
}
