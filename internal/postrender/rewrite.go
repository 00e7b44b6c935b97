package postrender

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// rewritten returns the text with some fields written anew, each with all of its lines. To write a whole workload anew allocates more
// than to parse it. It is not done for what has comments there other than ownMark, other fields in the same line, or what only YAML takes
// for the end of one.
func (o *object) rewritten(paths ...[]string) (text string, isDone bool) {
	if strings.ContainsAny(o.text, "\r\u0085\u2028\u2029") {
		return "", false
	}
	lines := strings.SplitAfter(o.text, "\n")
	for _, path := range paths {
		field, begin, end := fieldAt(o.node.YNode(), len(lines), path)
		if field == nil {
			continue
		}
		if begin < 0 || begin >= end || strings.Contains(strings.ReplaceAll(strings.Join(lines[begin:end], ""), ownMark, ""), "#") {
			return "", false
		}
		indent := lines[begin][:len(lines[begin])-len(strings.TrimLeft(lines[begin], " "))]
		written, err := yaml.NewRNode(field).String()
		if err != nil || len(indent) != field.Column-1 {
			return "", false
		}
		lines[begin] = strings.TrimSuffix(indent+strings.ReplaceAll(written, "\n", "\n"+indent), indent)
		clear(lines[begin+1 : end])
	}
	return strings.Join(lines, ""), true
}

// fieldAt returns a mapping with one field of a mapping, and the lines that it has, of all lines. It returns nil if there is no such field,
// and a negative line if it shares lines with others, or is new.
func fieldAt(in *yaml.Node, lines int, path []string) (field *yaml.Node, begin, end int) {
	end = lines
	for _, name := range path {
		if in.Kind != yaml.MappingNode || in.Style&yaml.FlowStyle != 0 {
			return in, -1, end
		}
		at := 0
		for at < len(in.Content) && in.Content[at].Value != name {
			at += 2
		}
		if at >= len(in.Content) {
			return nil, 0, 0
		}
		if at+2 < len(in.Content) {
			end = in.Content[at+2].Line - 1
		}
		key := in.Content[at]
		in, begin = in.Content[at+1], key.Line-1
		field = &yaml.Node{Kind: yaml.MappingNode, Column: key.Column, Content: []*yaml.Node{yaml.NewStringRNode(name).YNode(), in}}
	}
	return field, begin, end
}
