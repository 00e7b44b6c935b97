package integration

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/config/crd"
)

// schemaNode is what the walk looks at of a part of the CRD's schema.
type schemaNode struct {
	Type        string                `json:"type"`
	Enum        []any                 `json:"enum"`
	Minimum     *int64                `json:"minimum"`
	Maximum     *int64                `json:"maximum"`
	MaxLength   int                   `json:"maxLength"`
	Required    []string              `json:"required"`
	Properties  map[string]schemaNode `json:"properties"`
	Items       *schemaNode           `json:"items"`
	Values      *schemaNode           `json:"additionalProperties"`
	IntOrString bool                  `json:"x-kubernetes-int-or-string"`
}

// walked is a value of a field.
type walked struct {
	path    string         // as in ports.*.port
	text    string         // the value
	spec    map[string]any // of the whole Collector
	isFirst bool           // whether it is the field's first value
}

// oddTexts are what a string can be.
var oddTexts = []any{"", "a", "true", "1", "Not A Name", "{{ .x }}", strings.Repeat("a", 300)}

// generator makes values of each field of the CRD.
type generator struct {
	t    *testing.T
	root schemaNode
	base map[string]any
	all  []walked
}

// walkedValues returns values of each field: what its type allows, its limits, what lies beyond them, nothing, and another type.
func walkedValues(t *testing.T, base map[string]any) []walked {
	t.Helper()
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema schemaNode `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(crd.Collector, &definition); err != nil {
		t.Fatal(err)
	}
	g := &generator{t: t, base: base, root: definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]}
	g.below(g.root, nil)
	return g.all
}

// below makes values of what is below a node.
func (g *generator) below(node schemaNode, path []string) {
	for _, name := range slices.Sorted(maps.Keys(node.Properties)) {
		g.at(node.Properties[name], append(slices.Clone(path), name))
	}
	if node.Items != nil {
		g.at(*node.Items, append(slices.Clone(path), "[]"))
	}
	if node.Values != nil {
		g.at(*node.Values, append(slices.Clone(path), "*"))
	}
}

func (g *generator) at(node schemaNode, path []string) {
	values := append(valuesOf(node, g.least(node, path)), nil)
	for i, value := range values {
		text, err := json.Marshal(value)
		if err != nil {
			g.t.Fatal(err)
		}
		g.all = append(g.all, walked{path: joined(path), text: string(text), spec: g.specWith(path, value), isFirst: i == 0})
	}
	g.below(node, path)
}

// valuesOf returns values of a field, of which least is one that may be accepted.
func valuesOf(node schemaNode, least any) (values []any) {
	switch {
	case len(node.Enum) > 0:
		values = append(slices.Clone(node.Enum), "Other", 1)
	case node.IntOrString:
		values = []any{least, 0, 1, -1, "1", "50%", "-1", "1Gi", "x", 70000, true}
	case node.Type == "string":
		values = append([]any{least, 1}, oddTexts...)
		if node.MaxLength > 0 {
			values = append(values, strings.Repeat("a", node.MaxLength), strings.Repeat("a", node.MaxLength+1))
		}
	case node.Type == "integer" || node.Type == "number":
		values = []any{0, 1, -1, 65536, 1 << 31, "1"}
		if node.Minimum != nil {
			values = append(values, *node.Minimum, *node.Minimum-1)
		}
		if node.Maximum != nil {
			values = append(values, *node.Maximum, *node.Maximum+1)
		}
	case node.Type == "boolean":
		values = []any{true, false, "yes"}
	case node.Type == "array":
		values = []any{least, []any{}, "a"}
		if items, is := least.([]any); is && len(items) > 0 {
			values = append(values, []any{items[0], items[0]})
		}
	case node.Type == "object":
		values = []any{least, map[string]any{}, "a"}
		if node.Values != nil {
			for _, one := range least.(map[string]any) {
				values = append(values, map[string]any{"Not A Key": one}, map[string]any{strings.Repeat("k", 300): one})
			}
		}
	default:
		values = []any{map[string]any{}, "a"}
	}
	return values
}

// least returns a small value of a node, with all that is required.
func (g *generator) least(node schemaNode, path []string) any {
	if value, found := g.hint(leasts, path); found && node.fits(value) {
		return value
	}
	switch {
	case len(node.Enum) > 0:
		return node.Enum[0]
	case node.Type == "array":
		return []any{g.least(*node.Items, append(slices.Clone(path), "[]"))}
	case node.Type == "object" && node.Values != nil:
		return map[string]any{g.keyOf(path): g.least(*node.Values, append(slices.Clone(path), "*"))}
	case node.Type == "object":
		value := map[string]any{}
		for _, name := range node.Required {
			value[name] = g.least(node.Properties[name], append(slices.Clone(path), name))
		}
		return value
	case node.Type == "string":
		return "a"
	case node.Type == "boolean":
		return true
	case node.Minimum != nil:
		return max(*node.Minimum, 1)
	default:
		return int64(1)
	}
}

// fits tells whether a value can be one of the node.
func (n schemaNode) fits(value any) bool {
	switch value.(type) {
	case map[string]any:
		return n.Type == "object" && n.Values == nil
	case []any:
		return n.Type == "array"
	case string:
		return n.Type == "string" && len(n.Enum) == 0 || n.IntOrString
	}
	return false
}

// hint returns the entry of hints whose key is the longest end of a path.
func (g *generator) hint(hints map[string]string, path []string) (value any, found bool) {
	whole, longest := joined(path), ""
	for end := range hints {
		before, isEnd := strings.CutSuffix(whole, end)
		if isEnd && len(end) > len(longest) && (before == "" || strings.HasSuffix(before, ".") || end[0] < 'a') {
			longest = end
		}
	}
	if longest == "" {
		return nil, false
	}
	if err := yaml.Unmarshal([]byte(hints[longest]), &value); err != nil {
		g.t.Fatal(err)
	}
	return value, true
}

// keyOf returns the key of a map's one entry.
func (g *generator) keyOf(path []string) string {
	if value, found := g.hint(leasts, path); found {
		if key, is := value.(string); is {
			return key
		}
	}
	return "key"
}

// specWith returns the spec in which a field has a value.
func (g *generator) specWith(path []string, value any) map[string]any {
	spec := clone(g.t, g.base)
	whole := joined(path)
	var ends []string
	for end := range contexts {
		if whole == end || strings.HasPrefix(whole, end+".") || strings.HasPrefix(whole, end+"[") {
			ends = append(ends, end)
		}
	}
	slices.SortFunc(ends, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	for _, end := range ends {
		var context map[string]any
		if err := yaml.Unmarshal([]byte(contexts[end]), &context); err != nil {
			g.t.Fatal(err)
		}
		spec = overlay(spec, context).(map[string]any)
	}
	return g.set(g.root, spec, path, 0, value).(map[string]any)
}

// set returns a value of a node in which what is at the path has another one. What is not there on the way is the least.
func (g *generator) set(node schemaNode, in any, path []string, at int, value any) any {
	if at == len(path) {
		return value
	}
	if in == nil {
		in = g.least(node, path[:at])
	}
	if beside, found := g.hint(besides, path[:at+1]); found {
		in = overlay(in, beside)
	}
	switch path[at] {
	case "[]":
		items := in.([]any)
		if len(items) == 0 {
			items = []any{nil}
		}
		items[0] = g.set(*node.Items, items[0], path, at+1, value)
		return items
	case "*":
		entries, key := in.(map[string]any), g.keyOf(path[:at])
		entries[key] = g.set(*node.Values, entries[key], path, at+1, value)
		return entries
	default:
		fields := in.(map[string]any)
		fields[path[at]] = g.set(node.Properties[path[at]], fields[path[at]], path, at+1, value)
		return fields
	}
}

// overlay merges maps, and the first items of lists. A null removes.
func overlay(into, from any) any {
	a, isMap := into.(map[string]any)
	b, areMaps := from.(map[string]any)
	if isMap && areMaps {
		for key, value := range b {
			if value == nil {
				delete(a, key)
				continue
			}
			a[key] = overlay(a[key], value)
		}
		return a
	}
	items, isList := into.([]any)
	others, areLists := from.([]any)
	if isList && areLists && len(items) > 0 && len(others) > 0 {
		return []any{overlay(items[0], others[0])}
	}
	return from
}

func clone(t *testing.T, value map[string]any) (copied map[string]any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &copied); err != nil {
		t.Fatal(err)
	}
	return copied
}

// joined writes a path as the API server does: ports.*.port, env[].name.
func joined(path []string) string {
	return strings.ReplaceAll(strings.Join(path, "."), ".[]", "[]")
}
