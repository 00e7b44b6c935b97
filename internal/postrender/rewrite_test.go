package postrender

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestAFieldThatIsWrittenAnewReadsAsIfAllWas(t *testing.T) {
	const spaced = "kind:  Deployment # odd"
	for name, row := range map[string]struct {
		text   string
		isDone bool
	}{
		"the volumes are last": {spaced + `
spec:
    template:
        metadata:
            labels: {a: b}
        spec:
            volumes:
              - secret: {secretName: a}
`, true},
		"the volumes are first": {spaced + `
spec:
  template:
    spec:
      volumes:
      - secret:
          secretName: a
      containers: []
    metadata:
      labels:
        a: b
  replicas: 1
`, true},
		"annotations with many lines": {spaced + `
spec:
  template:
    metadata:
      annotations:
        a: |
          x

            y
        b: "c\nd"
        e: 'f

          g'
    spec:
      volumes:
      - secret: {secretName: a}
`, true},
		"the chart's mark of what it mounts": {spaced + `
spec:
  template:
    metadata:
      labels:
        a: b
    spec:
      volumes:
      - secret:
          secretName: a # kube8.dev/own
`, true},
		"a new field metadata": {spaced + `
spec:
  template:
    spec:
      volumes:
      - secret: {secretName: a}
`, false},
		"a comment in the volumes": {spaced + `
spec:
  template:
    metadata:
      labels: {a: b}
    spec:
      volumes:
      # which
      - secret: {secretName: a}
`, false},
		"all in one line": {spaced + "\nspec: {template: {metadata: {labels: {a: b}}, spec: {volumes: [{secret: {secretName: a}}]}}}\n", false},
		"braces over many lines": {spaced + `
spec: {
  template: {
    metadata: {labels: {a: b}},
    spec: {
      volumes: [{secret: {secretName: a}}]
    }
  }
}
`, false},
		"a line that ends with a character of Unicode": {spaced + `
spec:
  template:
    metadata:
      annotations:
        a: '` + "\u2028" + `
          b'
    spec:
      volumes:
      - secret: {secretName: a}
`, false},
		"a key that has its own line": {spaced + `
spec:
  template:
    metadata:
      labels: {a: b}
    spec:
      ? volumes
      :
      - secret: {secretName: a}
`, false},
	} {
		secrets := map[reference]*files{}
		for _, mark := range []string{"", ownMark} {
			secrets[reference{"a", mark}] = &files{stamps{ConfigHashAnnotation: "1"}, "-2"}
		}
		_, parsed, err := split(row.text)
		if err != nil || parsed[0].stamp(secrets, "") != nil {
			t.Fatal(name, err)
		}
		whole, err := parsed[0].node.String()
		if err != nil {
			t.Fatal(name, err)
		}
		text, isDone := parsed[0].rewritten(podFields...)
		if isDone != row.isDone {
			t.Errorf("%s: %t", name, isDone)
		}
		if !isDone {
			continue
		}
		if !strings.HasPrefix(text, spaced) {
			t.Errorf("%s: another field is written anew:\n%s", name, text)
		}
		var want, got any
		if yaml.Unmarshal([]byte(whole), &want) != nil || yaml.Unmarshal([]byte(text), &got) != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%s: %s\n%s", name, cmp.Diff(want, got), text)
		}
	}
}
