package main

import (
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestDifferencesAreWhatDiffers(t *testing.T) {
	for _, row := range []struct {
		name, before string
		now          map[string]any
		want         []difference
	}{
		{name: "a large number that stays is none", before: `{"runAsUser": 1000650000}`, now: map[string]any{"runAsUser": int64(1000650000)}},
		{name: "a number that changes is one", before: `{"replicas": 2}`, now: map[string]any{"replicas": int64(3)}, want: []difference{{"spec.replicas", "2", "3"}}},
		{name: "an empty map that comes", before: `{"a": 1}`, now: map[string]any{"a": int64(1), "service": map[string]any{}}, want: []difference{{"spec.service", "", "{}"}}},
		{name: "an empty list that goes", before: `{"a": 1, "env": []}`, now: map[string]any{"a": int64(1)}, want: []difference{{"spec.env", "[]", ""}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			live := &unstructured.Unstructured{}
			live.SetAnnotations(map[string]string{beforeAnnotation: row.before})
			NewWithT(t).Expect(differences(before(live), row.now)).To(Equal(row.want))
		})
	}
}

func TestWhatIsKeptOutlivesAnnotationsThatAreNull(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	for _, annotations := range []string{"", "  annotations: null\n", "  annotations:\n"} {
		text, tag := opened(t, "")
		text = strings.NewReplacer("metadata:\n", "metadata:\n"+annotations, "spec:\n", "spec:\n  nodeSelector: {a: b}\n", "  nodeSelector:\n    a: b\n", "").Replace(text)
		code, says := save(t, "", text, "If-Match", tag)
		g.Expect(code).To(Equal(http.StatusOK), says)
		g.Expect(get(t).Annotations).To(HaveKey(beforeAnnotation))
	}
}

func TestAConfigurationThatMovesToASecretIsNotKept(t *testing.T) {
	const config, inSecret = "configurationText: |\n      exporters:\n        debug: {} # " + secret + "\n", "configurationSecret: {name: a, key: b}\n"
	for _, row := range []struct{ name, from, to, kept string }{
		{name: "a text that stays one", from: config, to: "configurationText: '{}'\n", kept: secret},
		{name: "a text that moves", from: config, to: inSecret, kept: `"configurationSecret":{"key":"b","name":"a"}`},
		{name: "base64 that moves", from: "configuration: aHVudGVyMi1pcy1teS1wYXNzd29yZA==\n", to: inSecret, kept: `"configurationSecret":{"key":"b","name":"a"}`},
		{name: "files that move with it", from: config + "    files: {password: aHVudGVyMi1pcy1teS1wYXNzd29yZA==}\n", to: inSecret, kept: `"configurationSecret"`},
		{name: "files that stay", from: config + "    files: {a: YQ==}\n", to: inSecret + "    files: {a: YQ==}\n", kept: `"files":{"a":"YQ=="}`},
		{name: "another Secret", from: "configurationSecret: {name: other, key: b}\n", to: inSecret, kept: `"name":"other"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			put(t, "gateway", valid())
			for _, to := range []string{row.from, row.to} {
				text, tag := opened(t, "")
				head, rest, _ := strings.Cut(text, "  collector:\n")
				_, tail, _ := strings.Cut(rest, "  tenant:\n")
				text = head + "  collector:\n    name: opentelemetry-collector\n    version: 0.150.0\n    " + to + "  tenant:\n" + tail
				code, says := save(t, "", text, "If-Match", tag)
				g.Expect(code).To(Equal(http.StatusOK), says)
			}
			kept := get(t).Annotations[beforeAnnotation]
			g.Expect(kept).To(ContainSubstring(row.kept))
			if strings.HasPrefix(row.to, "configurationSecret") {
				g.Expect(kept).NotTo(Or(ContainSubstring(secret), ContainSubstring("aHVudGVyMi1pcy1teS1wYXNzd29yZA")))
			}
			_, says := opened(t, "?before=true")
			g.Expect(says).NotTo(BeEmpty())
		})
	}
}
