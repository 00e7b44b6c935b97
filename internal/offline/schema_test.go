package offline

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/config/crd"
	"github.com/kube8/kube8-operator/internal/configuration"
	"github.com/kube8/kube8-operator/internal/postrender"
)

// FuzzConfiguration compares what the schema accepts with what the post-renderer accepts, for a configuration as it stands
// in a Collector, or for one that is encoded first. Both accept the same, except YAML, which only the post-renderer reads.
// Both give the same reason. No answer repeats the configuration. An accepted configuration comes out byte for byte.
func FuzzConfiguration(f *testing.F) {
	for _, text := range []string{
		"a: bc?\n", "YTogYmM/Cg==", "YTogYmM_Cg==", "YTog\nYmM/\r\nCg==\n", "YTog YmM/Cg==", "YTogYmM/Cg", "YQ=\n=", "====", "\n", "", "=", "A===",
		"receivers: {}", "Y2=0", "YWI=", "YWJj", "\ufeffa: b", "a: {{ b }}", "a: *b", "\x00", "a\r\nb: c", "é", "YTogYmM/Cg==\x00", "\u2028", "a: 1\na: 2", "\x7f",
		strings.Repeat("x", configuration.MaxBytes), strings.Repeat("x", configuration.MaxBytes+1),
		strings.Repeat("x", configuration.MaxBytes+2), strings.Repeat("\n", configuration.MaxEncodedBytes-4) + "YQ==",
		strings.Repeat("\n", configuration.MaxEncodedBytes-3) + "YQ==",
	} {
		for _, format := range []bool{true, false} {
			f.Add(text, true, format)
			f.Add(text, false, format)
		}
	}
	schema, err := newCRDSchema(crd.Collector)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, encode, raw bool) {
		const marker = "qzjxk" // makes any repetition recognisable
		text = strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "x", marker)
		configuration, format := text, "yaml"
		if encode {
			configuration = base64.StdEncoding.EncodeToString([]byte(text))
		}
		if raw {
			format = "raw"
		}

		accepted, bySchema := admitConfiguration(t, schema, configuration, format)
		rendered, byRenderer := renderConfiguration(configuration, format)
		for _, answer := range []string{accepted, bySchema, byRenderer} {
			if strings.Contains(answer, marker) || encode && len(configuration) > 24 && strings.Contains(answer, configuration) {
				t.Fatalf("an answer repeats the configuration: %.300s", answer)
			}
		}
		switch {
		case bySchema == "" && byRenderer == "":
			decoded, err := base64.StdEncoding.DecodeString(configuration)
			if want := base64.StdEncoding.EncodeToString(decoded); err != nil || !strings.Contains(rendered, want) {
				t.Fatalf("not byte for byte (error %v):\n%.300s", err, rendered)
			}
		case bySchema == "" && !raw && strings.HasSuffix(byRenderer, orRaw):
		case bySchema != byRenderer:
			t.Fatalf("the schema says      %q\nthe post-renderer says %q", bySchema, byRenderer)
		}
	})
}

const (
	configurationPrefix = "spec.collector.configuration: "
	orRaw               = ", or set format to raw if the file is not YAML"
)

// admitConfiguration returns the API server's answer, and the reason in it in the post-renderer's words.
func admitConfiguration(t *testing.T, schema *crdSchema, configuration, format string) (answer, reason string) {
	t.Helper()
	collector := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kube8.dev/v1alpha1", "kind": "Collector", "metadata": map[string]any{"name": "gateway", "namespace": "acme"},
		"spec": map[string]any{
			"collector": map[string]any{"name": "c", "version": "1", "configuration": configuration, "format": format},
			"tenant":    map[string]any{"id": "t", "reference": "r"},
			"cluster":   "k",
		},
	}}
	refusals := schema.validate(t.Context(), collector)
	if len(refusals) == 0 {
		return "", ""
	}
	if len(refusals) > 1 {
		t.Fatalf("more than one reason: %v", refusals)
	}
	reason = describe(refusals[0]).Message
	if strings.Contains(reason, "may not be more than 368640 bytes") {
		reason = "may not be more than 368640 bytes; leave out line breaks"
	}
	return refusals.ToAggregate().Error(), reason
}

// renderConfiguration returns the manifest, or the post-renderer's reason to refuse it.
func renderConfiguration(configuration, format string) (manifest, reason string) {
	// As the chart quotes it.
	secret := fmt.Sprintf("kind: Secret\nmetadata:\n  name: c\n  annotations: {%s: %s, %s: config.yaml}\ndata:\n  config.yaml: %q\n",
		postrender.ConfigurationAnnotation, format, postrender.ConfigurationFileAnnotation, configuration)
	documents, err := postrender.Renderer{}.Finish(secret)
	if err != nil {
		return "", strings.TrimPrefix(err.Error(), configurationPrefix)
	}
	return postrender.Join(documents), ""
}
