// Package specpath translates a field of an object that a Collector became to the field of the Collector that it comes
// from: the API server refuses spec.template.spec.containers[0].env[7].name of a Deployment, and the user wrote spec.env[0].
package specpath

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Of returns the field of collector that path, a field of the rendered obj, comes from. It names a field that has no
// counterpart by the object: Kind "name": path.
func Of(collector, obj *unstructured.Unstructured, path string) string {
	for _, rule := range rules[obj.GetKind()] {
		if rest, fits := cutField(path, rule.from); fits {
			if found := rule.to(collector, obj, rule.from, rest); found != "" {
				return found
			}
		}
	}
	return fmt.Sprintf("%s %q: %s", obj.GetKind(), obj.GetName(), path)
}

// rule says where in a Collector a field comes from, with all that is below it. The first one that fits is used.
type rule struct {
	from string
	to   origin
}

// origin returns the field of collector for the field from of obj, where rest is what comes after from. It returns "" if
// the field is the chart's own.
type origin func(collector, obj *unstructured.Unstructured, from, rest string) string

// field is a field of the Collector that the chart takes over as it stands.
func field(name string) origin {
	return func(_, _ *unstructured.Unstructured, _, rest string) string { return name + rest }
}

// files are the configuration and the further files of the Collector, which the chart puts into one Secret.
func files(collector, _ *unstructured.Unstructured, _, rest string) string {
	given, _ := at(collector.Object, "spec.collector.files").(map[string]any)
	if _, further := given[strings.Trim(rest, "[]")]; further {
		return "spec.collector.files" + rest
	}
	return "spec.collector.configuration"
}

// items is a list of the Collector whose items the chart appends to its own. The item is found by what names it, and among
// several of one name by its place from the end.
func items(list, key string) origin {
	return func(collector, obj *unstructured.Unstructured, from, rest string) string {
		index, below, isItem := cutIndex(rest)
		rendered, _ := at(obj.Object, from).([]any)
		if !isItem || index >= len(rendered) {
			return list + rest
		}
		name, behind := at(rendered[index], key), 0
		for _, item := range rendered[index+1:] {
			if reflect.DeepEqual(at(item, key), name) {
				behind++
			}
		}
		given, _ := at(collector.Object, list).([]any)
		for i, item := range slices.Backward(given) {
			if !reflect.DeepEqual(at(item, key), name) {
				continue
			}
			if behind == 0 {
				return fmt.Sprintf("%s[%d]%s", list, i, below)
			}
			behind--
		}
		return ""
	}
}

// volumes are those of the Collector. The API server counts those of a StatefulSet's claims first, in an order that changes,
// and checks the claims' names there.
func volumes(collector, obj *unstructured.Unstructured, from, rest string) string {
	claims, _ := at(obj.Object, "spec.volumeClaimTemplates").([]any)
	index, below, isItem := cutIndex(rest)
	switch {
	case !isItem || len(claims) == 0:
		return items("spec.extraVolumes", "name")(collector, obj, from, rest)
	case index >= len(claims):
		return items("spec.extraVolumes", "name")(collector, obj, from, fmt.Sprintf("[%d]%s", index-len(claims), below))
	case len(claims) > 1:
		return "spec.volumeClaimTemplates"
	}
	return "spec.volumeClaimTemplates[0].metadata.name"
}

// ports is the map of the Collector that the chart makes a list of. It has one number for those of the list, and the port's
// name is its key.
func ports(_, obj *unstructured.Unstructured, from, rest string) string {
	index, below, isItem := cutIndex(rest)
	name, _ := at(obj.Object, fmt.Sprintf("%s[%d].name", from, index)).(string)
	if !isItem || name == "" {
		return "spec.ports"
	}
	switch below {
	case ".port", ".containerPort", ".hostPort":
		below = ".port"
	case ".name", ".targetPort":
		below = ""
	}
	return fmt.Sprintf("spec.ports[%s]%s", name, below)
}

// metrics are the two targets of the Collector that the chart makes a list of metrics of.
func metrics(_, obj *unstructured.Unstructured, from, rest string) string {
	index, _, isItem := cutIndex(rest)
	if !isItem {
		return "spec.autoscaling"
	}
	switch at(obj.Object, fmt.Sprintf("%s[%d].resource.name", from, index)) {
	case "cpu":
		return "spec.autoscaling.targetCPUUtilizationPercentage"
	case "memory":
		return "spec.autoscaling.targetMemoryUtilizationPercentage"
	}
	return "spec.autoscaling"
}

// image says where the image's name comes from in this Collector.
func image(collector, _ *unstructured.Unstructured, _, _ string) string {
	if at(collector.Object, "spec.image") != nil {
		return "spec.image"
	}
	return "spec.collector"
}

// cutField returns what comes after prefix in path, if path is that field or one below it.
func cutField(path, prefix string) (rest string, fits bool) {
	rest, fits = strings.CutPrefix(path, prefix)
	return rest, fits && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// cutIndex splits the index off a path that starts with one: "[7].name".
func cutIndex(path string) (index int, rest string, isIndex bool) {
	number, rest, found := strings.Cut(strings.TrimPrefix(path, "["), "]")
	index, err := strconv.Atoi(number)
	return index, rest, found && err == nil && index >= 0
}

// at returns what is at a path such as "spec.containers[0].name" in value, or nil.
func at(value any, path string) any {
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch in := value.(type) {
		case map[string]any:
			value = in[step]
		case []any:
			index, err := strconv.Atoi(step)
			if err != nil || index < 0 || index >= len(in) {
				return nil
			}
			value = in[index]
		default:
			return nil
		}
	}
	return value
}
