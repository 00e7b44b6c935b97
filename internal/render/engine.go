package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/helm"
)

// maxDepth is how often a template may include itself. Helm's engine has the same limit.
const maxDepth = 1000

// templates are those of a chart, parsed once. Helm's engine parses all of them for each render.
type templates struct {
	files  []string // that have objects, not only definitions
	parsed sync.Pool
}

// parseTemplates parses the templates of a chart. It returns nil for a chart that needs what only Helm's engine has: charts of its own,
// files beside the templates, and the functions tpl and lookup.
func parseTemplates(chrt *helm.Chart) *templates {
	if len(chrt.Dependencies()) > 0 || strings.EqualFold(chrt.Metadata.Type, "library") {
		return nil
	}
	all, found := template.New("chart").Option("missingkey=zero").Funcs(functions()), &templates{}
	ordered := slices.SortedFunc(slices.Values(chrt.Templates), func(a, b *helm.File) int { // a later definition wins
		if byDepth := strings.Count(b.Name, "/") - strings.Count(a.Name, "/"); byDepth != 0 {
			return byDepth
		}
		return strings.Compare(b.Name, a.Name)
	})
	for _, file := range ordered {
		name, text := path.Join(chrt.ChartFullPath(), file.Name), string(file.Data)
		if strings.Contains(text, ".Files") || strings.Contains(text, ".Subcharts") {
			return nil
		}
		if _, err := all.New(name).Parse(text); err != nil {
			return nil
		}
		if !strings.HasPrefix(path.Base(name), "_") {
			found.files = append(found.files, name)
		}
	}
	found.parsed.New = func() any {
		copied, err := all.Clone()
		if err != nil {
			return nil
		}
		return copied.Funcs(template.FuncMap{"include": including(copied)})
	}
	return found
}

// render returns what each file of the chart renders to, as Helm's engine does. Its errors are not made for users.
func (t *templates) render(chrt *helm.Chart, input helm.Values) (rendered map[string]string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("a template panics: %v", cause)
		}
	}()
	parsed, ok := t.parsed.Get().(*template.Template)
	if !ok {
		return nil, errors.New("the templates cannot be copied")
	}
	values := map[string]any{
		"Chart": struct {
			helm.Metadata
			IsRoot bool
		}{*chrt.Metadata, chrt.IsRoot()},
		"Release": input["Release"], "Capabilities": input["Capabilities"], "Values": input["Values"],
	}
	rendered = make(map[string]string, len(t.files))
	for _, file := range t.files {
		values["Template"] = helm.Values{"Name": file, "BasePath": path.Join(chrt.ChartFullPath(), "templates")}
		text, err := execute(parsed, file, values)
		if err != nil {
			return nil, fmt.Errorf("execute %s: %w", file, err)
		}
		rendered[file] = strings.ReplaceAll(text, "<no value>", "")
	}
	t.parsed.Put(parsed) // not after an error, which leaves it within an include
	return rendered, nil
}

// buffers are used again: a template has no end that is known before.
var buffers = sync.Pool{New: func() any { return &bytes.Buffer{} }}

// execute executes one template of a set.
func execute(all *template.Template, name string, data any) (string, error) {
	buffer, _ := buffers.Get().(*bytes.Buffer)
	buffer.Reset()
	defer buffers.Put(buffer)
	err := all.ExecuteTemplate(buffer, name, data)
	return buffer.String(), err
}

// including returns the function include for a set of templates.
func including(all *template.Template) func(string, any) (string, error) {
	depth := map[string]int{}
	return func(name string, data any) (string, error) {
		if depth[name] > maxDepth {
			return "", fmt.Errorf("template %s includes itself too often", name)
		}
		depth[name]++
		text, err := execute(all, name, data)
		depth[name]--
		return text, err
	}
}

// regexMatch returns the function of Sprig, which compiles an expression for each call. This one remembers as many as a chart has.
func regexMatch() func(expression, text string) bool {
	var mutex sync.Mutex
	known := map[string]*regexp.Regexp{}
	return func(expression, text string) bool {
		mutex.Lock()
		found := known[expression]
		if found == nil && len(known) < 100 {
			found, _ = regexp.Compile(expression)
			known[expression] = found
		}
		mutex.Unlock()
		if found == nil {
			isMatch, _ := regexp.MatchString(expression, text)
			return isMatch
		}
		return found.MatchString(text)
	}
}

// functions returns those that Helm documents for templates, without tpl, lookup, TOML, and those for lists of YAML and JSON:
// https://helm.sh/docs/chart_template_guide/function_list/
func functions() template.FuncMap {
	all := sprig.TxtFuncMap()
	delete(all, "env")
	delete(all, "expandenv")
	all["include"] = func(string, any) string { return "" } // see including
	all["regexMatch"] = regexMatch()
	all["getHostByName"] = func(string) string { return "" }
	all["required"] = func(message string, value any) (any, error) {
		if value == nil || value == "" {
			return nil, errors.New(message)
		}
		return value, nil
	}
	text := func(marshal func(any) ([]byte, error)) func(any) string {
		return func(value any) string {
			data, err := marshal(value)
			if err != nil {
				return ""
			}
			return strings.TrimSuffix(string(data), "\n")
		}
	}
	parsed := func(unmarshal func([]byte, any) error) func(string) map[string]any {
		return func(text string) map[string]any {
			found := map[string]any{}
			if err := unmarshal([]byte(text), &found); err != nil {
				found["Error"] = err.Error()
			}
			return found
		}
	}
	all["toYaml"], all["toJson"] = text(toYAML), text(json.Marshal)
	all["fromYaml"] = parsed(func(data []byte, into any) error { return yaml.Unmarshal(data, into) })
	all["fromJson"] = parsed(json.Unmarshal)
	return all
}
