package manifest_test

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/kube8/kube8-operator/internal/manifest"
)

const head = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n"

// The rows are what encoders and people write. The integration test of the same name has kubectl read them, too.
func TestWhatKubectlTakes(t *testing.T) {
	const one = `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"}}`
	for name, row := range map[string]struct{ text, want string }{
		"a document": {head, "[" + one + "]"},
		"nothing":    {"", "[]"},
		"comments, and documents of nothing else":                  {"# a\n---\n# b\n--- # c\n" + head + "---\n\n---\nnull\n---\n~\n", "[" + one + "]"},
		"a byte order mark":                                        {"\ufeff" + head, "[" + one + "]"},
		"a byte order mark before JSON":                            {"\ufeff" + one + "\n", "[" + one + "]"},
		"UTF-16, as Windows PowerShell writes it":                  {utf16le("\ufeff" + head), "[" + one + "]"},
		"line ends of Windows":                                     {strings.ReplaceAll("---\n"+head+"a: |\n  b\n  c\n", "\n", "\r\n"), `[{"a":"b\nc\n",` + one[1:] + "]"},
		"tabs beside values":                                       {"apiVersion: example.com/v1\t# a\nkind:\tThing\t\nmetadata:\t{name: a}\n", "[" + one + "]"},
		"JSON, indented by tabs":                                   {strings.ReplaceAll(one, ",", ",\n\t") + "\n", "[" + one + "]"},
		"JSON documents with nothing between them":                 {one + one + "\n" + one, "[" + one + "," + one + "," + one + "]"},
		"JSON documents between separators":                        {one + "\n---\n" + one + "\n", "[" + one + "," + one + "]"},
		"JSON and then YAML":                                       {one + "\n---\n" + head, "[" + one + "," + one + "]"},
		"a mapping in braces that is not JSON":                     {"{apiVersion: example.com/v1, kind: Thing, metadata: {name: a},}\n", "[" + one + "]"},
		"the end of a document":                                    {head + "...\n---\n" + head + "...\n", "[" + one + "," + one + "]"},
		"keys in quotes, and escapes":                              {`{"apiVersion": "example.com\u002fv1", 'kind': "\x54hing", ? metadata : {name: "\u0061"}}`, "[" + one + "]"},
		"anchors and merges":                                       {head + "a: &a {b: 1}\nc: {<<: *a, d: 2}\n", `[{"a":{"b":1},"c":{"b":1,"d":2},` + one[1:] + "]"},
		"a merge of which a key is overridden":                     {head + "a: &a {b: 1, d: 1}\nc: {<<: *a, b: 2}\n", `[{"a":{"b":1,"d":1},"c":{"b":2,"d":1},` + one[1:] + "]"},
		"numbers and words of YAML 1.1":                            {head + "a: [1e3, 0644, 0o644, 0x10, 1_000, 0b11, yes, off, ~, 1.5, 12:30:45, 2026-01-01]\n", `[{"a":[1000,420,420,16,1000,3,true,false,null,1.5,"12:30:45","2026-01-01"],` + one[1:] + "]"},
		"a text in folded lines":                                   {head + "a: >-\n  b\n  c\nd: \"e\\\n  f\"\n", `[{"a":"b c","d":"ef",` + one[1:] + "]"},
		"a list":                                                   {"apiVersion: v1\nkind: List\nitems:\n- " + one + "\n- " + one + "\n", "[" + one + "," + one + "]"},
		"a list of a kind, whose items have none":                  {"apiVersion: example.com/v1\nkind: ThingList\nitems: [{metadata: {name: a}}]\n", "[" + one + "]"},
		"an empty list":                                            {"apiVersion: v1\nkind: List\nitems: []\n", "[]"},
		"values of a chart, which are no manifest for this reader": {"replicas: 2\n", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			got := []any{}
			for object, err := range manifest.Objects([]byte(row.text)) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, object.Object)
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			var is, want any
			if json.Unmarshal(text, &is) != nil || json.Unmarshal([]byte(row.want), &want) != nil || !cmp.Equal(is, want) {
				t.Errorf("got  %s\nwant %s", text, row.want)
			}
		})
	}
}

func utf16le(text string) string {
	var all []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		all = binary.LittleEndian.AppendUint16(all, unit)
	}
	return string(all)
}

// Errors name no value, which can be a credential.
func TestWhatIsRefused(t *testing.T) {
	for name, row := range map[string]struct{ text, want string }{
		"a bracket that is not closed":             {head + "---\n# b\n\n" + head + "a: [hunter2\n", "document 2, line 10: has a [ or { that is not closed"},
		"a tab as indentation":                     {head + "a:\n\tb: hunter2\n", "document 1, line 5: has a tab"},
		"JSON that is cut off":                     {"{\"apiVersion\": \"v1\",\n \"kind\": \"hunter2\"", "document 1, line 1: has a [ or {"},
		"a JSON document after two others":         {"{}{}\n{\"a\": [hunter2}\n", "document 3, line 2: "},
		"text beside a separator":                  {head + "--- {hunter2: b}\n", "document 2, line 4: --- and text on one line"},
		"a template that was not rendered":         {"{{- if .Values.hunter2 }}\n" + head, "document 1, line 1: has a statement of a template"},
		"a directive, which kubectl does not take": {"%YAML 1.2\n---\n" + head, "document 1, line 1: has a directive"},
		"UTF-16 without a byte order mark":         {utf16le(head), "document 1, line 1: is UTF-16"},
		"a key twice":                              {head + "spec: hunter2\nspec: b\n", `document 1, line 5: key "spec" already set in map; remove it`},
		"a key twice, in two spellings":            {head + "a: {yes: hunter2,\n  on: b}\n", "document 1, line 5: key true already set in map; remove it"},
		"a key twice beside a merge":               {head + "a: &a {b: hunter2}\nc: {<<: *a, d: 1, d: 2}\n", `document 1, line 5: key "d" already set in map; remove it`},
		"a key twice in JSON":                      {`{"apiVersion": "v1", "kind": "A", "spec": "hunter2", "spec": 2}`, `document 1, line 1: field "spec"; remove it`},
		"a list of YAML":                           {"- hunter2\n", "document 1, line 1: not a Kubernetes object"},
		"a word":                                   {head + "---\n\nhunter2\n", "document 2, line 6: not a Kubernetes object"},
		"no kind":                                  {"---\n---\napiVersion: v1\nmetadata: {name: hunter2}\n", "document 2, line 3: no kind"},
		"a list in a list":                         {"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: List, items: []}]}", "document 1, line 1: items[0]: not an object"},
		"an item without a kind":                   {"{apiVersion: v1, kind: List, items: [{metadata: {name: hunter2}}]}", "document 1, line 1: items[0]: not an object"},
		"an item that is a word":                   {"{apiVersion: v1, kind: List, items: [hunter2]}", "document 1, line 1: not a Kubernetes object"},
		"an infinite number":                       {head + "hunter2: .inf\n", "document 1, line 1: "},
	} {
		t.Run(name, func(t *testing.T) {
			var refused []string
			for _, err := range manifest.Objects([]byte(row.text)) {
				if err != nil {
					refused = append(refused, err.Error())
				}
			}
			got := strings.Join(refused, "\n")
			if len(refused) != 1 || !strings.HasPrefix(got, row.want) || strings.Contains(got, "hunter2") {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestValuesAreOneMapping(t *testing.T) {
	for text, want := range map[string]string{
		"\ufeffa: 1\n":      `{"a":1}`,
		"a: 1\n---\nb: 2\n": "document 2, line 3: there is more than one document",
		"- a\n":             "document 1, line 1: not a YAML mapping",
		"a: [\n":            "document 1, line 1: has a [ or {",
	} {
		got, err := manifest.Mapping([]byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%q: %v, want %s", text, err, want)
			}
			continue
		}
		if text, err := json.Marshal(got); err != nil || string(text) != want {
			t.Errorf("got %s, %v, want %s", text, err, want)
		}
	}
}
