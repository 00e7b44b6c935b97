package configuration

import (
	"encoding/base64"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// HealthCheck is where a collector tells its health, over HTTP.
type HealthCheck struct {
	Path string
	Port int

	name     string                // of the extension
	settings map[string]*yaml.Node // of the extension
}

var (
	healthChecks  = regexp.MustCompile(`^health_check(/.+)?$`)
	portAtTheEnd  = regexp.MustCompile(`:([1-9][0-9]{0,4})$`)
	loopback      = regexp.MustCompile(`^(?i)(localhost|127[.].*|\[::1\])$`)
	hostVariable  = regexp.MustCompile(`^\$\{(?:env:)?(\w+)(?::-([^}]*))?\}:[0-9]+$`)
	pathOfRequest = regexp.MustCompile(`^/[^$]*$`) // without a name from the environment
)

// healthCheckIn returns the first health_check extension that a configuration enables on an address that the kubelet can reach, or nil.
// The configuration is the tenant's: any node of it may be of any type.
func healthCheckIn(root *yaml.Node) *HealthCheck {
	top := fields(root)
	enabled, extensions := resolve(fields(top["service"])["extensions"]), fields(top["extensions"])
	if enabled == nil || enabled.Kind != yaml.SequenceNode {
		return nil
	}
	for _, node := range enabled.Content {
		name := resolve(node)
		if name.ShortTag() != yaml.NodeTagString || !healthChecks.MatchString(name.Value) {
			continue
		}
		if found := healthCheckOf(name.Value, fields(extensions[name.Value])); found != nil {
			return found
		}
		delete(extensions, name.Value) // it may be enabled thousands of times
	}
	return nil
}

// amongFiles returns the health check as the collector has it when it has merged all files of a chart's values, or nil.
func (h *HealthCheck) amongFiles(values map[string]any) *HealthCheck {
	below := map[string]*yaml.Node{}
	for _, root := range basesAt("first", values) {
		maps.Copy(below, fields(fields(fields(root)["extensions"])[h.name]))
	}
	maps.Copy(below, h.settings)
	h = healthCheckOf(h.name, below)
	further, areKnown := behindOwn(values)
	for _, root := range slices.Concat(basesAt("last", values), further) {
		if h != nil {
			h = h.under(root)
		}
	}
	if !areKnown {
		return nil
	}
	return h
}

// behindOwn returns the files that are YAML and that arguments give behind the collector's own, in their order. It tells whether the values
// have all of them. A file that is given again and again counts once, where it is last: it then wins, and costs no more.
func behindOwn(values map[string]any) (roots []*yaml.Node, areKnown bool) {
	collector, _ := values["collector"].(map[string]any)
	contents := map[string]any{}
	if files, has := collector["files"].(map[string]any); has {
		maps.Copy(contents, files)
	}
	for _, base := range asMaps(values["bases"]) {
		contents[textOf(base, "file")] = textOf(base, "content")
	}
	command, _ := values["command"].([]any)
	args, _ := values["args"].([]any)
	a := arguments{own: directory + textOf(collector, "fileName"), variables: variables(values)}
	line, seen, areKnown := slices.Concat(command, args), map[string]bool{}, true
	for i := range slices.Backward(line) {
		flag, _, file, _ := a.optionAt(line, i)
		text, isText := strings.CutPrefix(file, "yaml:")
		isBeside := isText && !strings.Contains(text, "health_check") && !strings.Contains(text, "extensions")
		if flag == "" || seen[file] || isBeside {
			continue
		}
		if file == a.own {
			slices.Reverse(roots)
			return roots, areKnown
		}
		seen[file] = true
		encoded, isFile := contents[strings.TrimPrefix(file, directory)].(string)
		areKnown = areKnown && isFile && strings.HasPrefix(file, directory)
		content, _ := base64.StdEncoding.DecodeString(encoded)
		if root, err := parse(string(content)); err == nil {
			roots = append(roots, root)
		}
	}
	return nil, true
}

// basesAt returns the bases at a position that are YAML, in their order.
func basesAt(position string, values map[string]any) (roots []*yaml.Node) {
	for _, base := range asMaps(values["bases"]) {
		extension := path.Ext(textOf(base, "file"))
		if (textOf(base, "position") == "last") != (position == "last") || extension != ".yaml" && extension != ".yml" {
			continue
		}
		content, _ := base64.StdEncoding.DecodeString(textOf(base, "content"))
		if root, err := parse(string(content)); err == nil {
			roots = append(roots, root)
		}
	}
	return roots
}

// isLoopback tells whether a variable of a chart's values, or its default in the configuration, keeps the kubelet from the health check.
func (h *HealthCheck) isLoopback(values map[string]any) bool {
	variable := hostVariable.FindStringSubmatch(text(h.settings["endpoint"]))
	if variable == nil {
		return false
	}
	host, mayBeSet := variable[2], len(asMaps(values["envFrom"])) > 0
	for _, given := range asMaps(values["env"]) {
		if given["name"] == variable[1] {
			host, mayBeSet = textOf(given, "value"), false
		}
	}
	return !mayBeSet && loopback.MatchString(host)
}

// under returns the health check as a file leaves it that is merged over its own, or nil if the file may take it away: a mapping is
// merged, and anything else is replaced.
func (h *HealthCheck) under(root *yaml.Node) *HealthCheck {
	top := fields(root)
	if enabled, isSet := fields(top["service"])["extensions"]; isSet && !lists(enabled, h.name) {
		return nil
	}
	extension, isSet := fields(top["extensions"])[h.name]
	if !isSet {
		return h
	}
	if extension == nil || extension.Kind != yaml.MappingNode {
		return nil
	}
	settings := maps.Clone(h.settings)
	maps.Copy(settings, fields(extension))
	return healthCheckOf(h.name, settings)
}

// lists tells whether a node is a list with a text.
func lists(node *yaml.Node, text string) bool {
	return node != nil && node.Kind == yaml.SequenceNode && slices.ContainsFunc(node.Content, func(item *yaml.Node) bool {
		item = resolve(item)
		return item.ShortTag() == yaml.NodeTagString && item.Value == text
	})
}

func healthCheckOf(name string, extension map[string]*yaml.Node) *HealthCheck {
	endpoint, location := text(extension["endpoint"]), text(extension["path"])
	if location == "" {
		location = "/"
	}
	port := portAtTheEnd.FindStringSubmatch(endpoint)
	if port == nil || loopback.MatchString(strings.TrimSuffix(endpoint, port[0])) || !pathOfRequest.MatchString(location) {
		return nil
	}
	number, err := strconv.Atoi(port[1])
	if err != nil || number > 65535 || !isEmpty(extension["tls"]) {
		return nil
	}
	return &HealthCheck{Path: location, Port: number, name: name, settings: extension}
}

// fields returns the values of a mapping by key, with those that are merged into it. It is empty for anything else.
func fields(mapping *yaml.Node) map[string]*yaml.Node {
	found := map[string]*yaml.Node{}
	mapping = resolve(mapping)
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return found
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		if key := mapping.Content[i]; isMerge(key) {
			for _, one := range mergedBy(mapping.Content[i+1]) {
				for name, value := range fields(one) {
					if found[name] == nil {
						found[name] = value
					}
				}
			}
		}
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		if name := resolve(mapping.Content[i]); name.ShortTag() == yaml.NodeTagString {
			found[name.Value] = resolve(mapping.Content[i+1])
		}
	}
	return found
}

// resolve returns what an alias stands for, and any other node itself.
func resolve(node *yaml.Node) *yaml.Node {
	if node != nil && node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// text returns a scalar as it is written; a list or a mapping counts as one that nothing matches.
func text(node *yaml.Node) string {
	switch {
	case isEmpty(node):
		return ""
	case node.Kind != yaml.ScalarNode:
		return "$"
	}
	return node.Value
}

// isEmpty tells whether a node says nothing, as Go templates take it.
func isEmpty(node *yaml.Node) bool {
	if node == nil || node.Kind != yaml.ScalarNode {
		return node == nil || len(node.Content) == 0
	}
	switch node.ShortTag() {
	case yaml.NodeTagNull:
		return true
	case yaml.NodeTagString:
		return node.Value == ""
	}
	return node.Value == "false" || node.Value == "0"
}
