package render

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/kube8/kube8-operator/internal/postrender"
)

// compareNodes has the post-renderer finish a manifest whose pods refer to something, and compares what it has parsed with what the text
// says. It returns how many objects are parsed, and how many of them are not parsed again.
func compareNodes(t *testing.T, name, references, manifest string) (parsed, sure int) {
	t.Helper()
	documents, err := postrender.Renderer{References: references}.Finish(manifest)
	if err != nil {
		return 0, 0 // a test of the post-renderer says what it refuses; some texts divide a document
	}
	for _, document := range documents {
		if document.Node == nil {
			continue
		}
		parsed++
		if isSure := compareNode(t, name, document); isSure {
			sure++
		}
	}
	return parsed, sure
}

func compareNode(t *testing.T, name string, document postrender.Document) (isSure bool) {
	t.Helper()
	got, isSure := fromNode(document.Node)
	if !isSure {
		return false
	}
	if _, isObject := got.(map[string]any); !isObject {
		return false // fromDocument takes no other
	}
	want, _, err := fromYAML(document.Text)
	if diff := cmp.Diff(any(want), got); err != nil || diff != "" {
		t.Errorf("%s: error %v (-text +node):\n%s", name, err, diff)
	}
	return true
}

func TestANodeIsWhatItsTextIsForKubernetes(t *testing.T) {
	isSure := map[bool]int{}
	compare := func(text string) {
		t.Helper()
		node, err := yaml.Parse(text)
		if err != nil {
			return
		}
		isSure[compareNode(t, text, postrender.Document{Text: text, Node: node.YNode()})]++
	}
	for _, scalar := range []string{
		"on", "Yes", "n", "y", "true", "True", "null", "~", "", "Null", "NULL", "1", "-1", "0", "-0", "01", "0o7", "0x1f", "0b1", "1_000", "1e3", "1.0",
		"12:30:45", "2020-01-01", "2020-01-01T00:00:00Z", ".inf", ".nan", "999999999999999", "9007199254740993", "-999999999999999", "+1",
		"<<", "=", "*b", "&b c", "!!str 1", "!!int \"3\"", "!x y", "text", "TCP", "/tmp", "a#b", "a #b", "1a", "12acd", "0a", "5b", "0b", "1e5a", "12e", "1f",
		"\"on\"", "'1'", "\"a\\u0085b\"", "\"\\x7f\"", "|\n  on\n", ">\n  a\n  b\n", "a\n  b", "[]", "{}", "[1, on, a]", "{on: 1}", "{a: 1, a: 2}",
		"{1: a}", "{<<: {a: b}}", "{null: a}", "{? [a] : b}", "&a {b: *a}", "0xacd", "0acd", "-a", "Infinity", "NaN", "e5", "0e", "00e0", "9e9", "9e9a",
		"-.inf", "-y", "--", "-on", "-0xa", "-1a", "-1e5", "1.5Gi", "0.150.0", "1.2.", "1.2_3.", "1.5e3", "1.5e3a", "1.2.3.4", "2001-12-14t21:59:43.10-05:00", "0.b", "0.5b", "1.5b",
	} {
		compare("a: " + scalar)
		compare(scalar + ": a")
		compare("a:\n- " + scalar)
	}
	if _, isKnown := fromNode(yaml.MustParse(`{"a\u2028": b}`).YNode()); isKnown {
		t.Error("a key that YAML, JSON and Go may read differently is not parsed again")
	}
	random := rand.New(rand.NewPCG(1, 0))
	for range 3000 { // as the post-renderer sets them: hashes, base64, and letters of numbers
		content := make([]byte, 1+random.IntN(9))
		for i := range content {
			content[i] = byte(random.UintN(256))
		}
		short := make([]byte, 1+random.IntN(6))
		for i := range short {
			short[i] = "0123456789abcdefxo+-._:yntTZ/~"[random.IntN(30)]
		}
		for _, text := range []string{hex.EncodeToString(content), base64.StdEncoding.EncodeToString(content), string(short)} {
			object := yaml.MustParse("kind: Secret\n")
			err := object.PipeE(yaml.SetField("data", yaml.NewMapRNode(&map[string]string{"a": text})), yaml.SetAnnotation("b", text))
			if err != nil {
				t.Fatal(err)
			}
			written := object.MustString()
			isSure[compareNode(t, text, postrender.Document{Text: written, Node: object.YNode()})]++
			compare(written)
		}
	}
	if isSure[true] < isSure[false] {
		t.Errorf("%d are not parsed again, %d are", isSure[true], isSure[false])
	}
}

// TestTheTextThatThePostRendererWritesIsItsNode has texts of any kind in what it writes anew.
func TestTheTextThatThePostRendererWritesIsItsNode(t *testing.T) {
	parts := append(strings.Split("ab10ex\n\t\r\"':#-\\%&*!|>{}[]?@`é😀\u00a0\u2028\ufeff~=./", ""),
		" ", "  ", ": ", " #", "- ", "---", "\n---\n", "null", "true", "on", "<<", strings.Repeat("many words ", 12))
	sure := 0
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 0))
		text := func() string {
			var made strings.Builder
			for range random.IntN(7) {
				made.WriteString(parts[random.IntN(len(parts))])
			}
			return made.String()
		}
		annotated := func() map[string]any { return map[string]any{text(): text(), text(): text()} }
		pod := map[string]any{"template": map[string]any{
			"metadata": map[string]any{"annotations": annotated(), "labels": map[string]any{"a": text()}},
			"spec": map[string]any{
				"containers": []any{map[string]any{"name": "a", "args": []any{text(), text()}}},
				"volumes": []any{
					map[string]any{"name": text(), "secret": map[string]any{"secretName": "a"}},
					map[string]any{"name": text(), "csi": map[string]any{"attributes": annotated()}},
				},
			},
		}}
		annotations := annotated()
		annotations[postrender.ConfigurationAnnotation] = "raw"
		var manifest strings.Builder
		for _, object := range []any{
			map[string]any{
				"kind": "Secret", "metadata": map[string]any{"name": "a", "annotations": annotations}, "data": map[string]any{"a": "aGFsbG8="},
			},
			map[string]any{"kind": "Deployment", "metadata": map[string]any{"name": "a", "annotations": annotated()}, "spec": pod},
			map[string]any{"kind": "Job", "metadata": map[string]any{"name": "a"}, "spec": pod},
		} {
			written, err := toYAML(object)
			if err != nil {
				t.Fatal(err)
			}
			manifest.WriteString("---\n" + string(written))
		}
		_, found := compareNodes(t, fmt.Sprint("seed ", seed), text(), manifest.String())
		sure += found
	}
	if sure < 500 {
		t.Errorf("only %d objects are not parsed again", sure)
	}
}
