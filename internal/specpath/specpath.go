// Package specpath translates a field of an object that a Collector became to the field of the Collector that it comes
// from: the API server refuses spec.template.spec.containers[0].env[7].name of a Deployment, and the user wrote spec.env[0].
package specpath

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/internal/configuration"
)

// Of returns the field of collector that path, a field of the rendered obj, comes from. It names a field that has no
// counterpart by the object: Kind "name": path, and the object itself without a path.
func Of(collector, obj *unstructured.Unstructured, path string) string {
	for _, rule := range rules[obj.GetKind()] {
		rest, found := strings.CutPrefix(path, rule.from)
		parts := below.FindStringSubmatch(rest)
		if !found || parts == nil {
			continue
		}
		index, err := strconv.Atoi(parts[1])
		if err != nil {
			index = -1
		}
		if name := rule.to(place{collector.Object, obj.Object, rule.from, rest, index, parts[2]}); name != "" {
			return name
		}
	}
	return strings.TrimSuffix(fmt.Sprintf("%s %q: %s", obj.GetKind(), obj.GetName(), path), ": ")
}

// below is what can come after a field: the index of an item, and fields of that.
var below = regexp.MustCompile(`(?s)^(?:\[(\d+)\])?([.\[].*)?$`)

// rule says where in a Collector a field comes from, with all that is below it. The first one that fits is used.
type rule struct {
	from string
	to   origin
}

// place is a field of an object: a rule's field, or what is below it.
type place struct {
	collector, object map[string]any

	from  string // the rule's field
	rest  string // what comes after it
	index int    // which item of the rule's field it is, or -1
	below string // what comes after the index
}

// name returns what names the item of the rule's field, by its path in the item, or "".
func (p place) name(path string) string {
	name, _ := at(p.object, fmt.Sprintf("%s[%d].%s", p.from, p.index, path)).(string)
	return name
}

// origin returns the field of the Collector that a place comes from. It returns "" if the place is the chart's own.
type origin func(p place) string

// field is a field of the Collector that the chart takes over as it stands.
func field(name string) origin {
	return func(p place) string { return name + p.rest }
}

// given is a field that the chart sets by itself where the Collector has none.
func given(name string) origin {
	return func(p place) string {
		if at(p.collector, name) == nil {
			return ""
		}
		return name + p.rest
	}
}

// files are the configuration and the further files of the Collector, which the chart puts into one Secret.
func files(p place) string {
	given, _ := at(p.collector, "spec.collector.files").(map[string]any)
	key := strings.Trim(p.rest, "[]")
	for name := range given {
		if configuration.FileKey(name) == key {
			return "spec.collector.files[" + name + "]"
		}
	}
	if at(p.collector, "spec.collector.configurationText") != nil {
		return "spec.collector.configurationText"
	}
	return "spec.collector.configuration"
}

// items is a list of the Collector that the chart appends to its own.
func items(list string) origin {
	return func(p place) string {
		rendered, _ := at(p.object, p.from).([]any)
		given, _ := at(p.collector, list).([]any)
		own := len(rendered) - len(given)
		switch {
		case p.index < 0 || p.index >= len(rendered):
			return list + p.rest
		case p.index < own:
			return ""
		}
		return fmt.Sprintf("%s[%d]%s", list, p.index-own, p.below)
	}
}

// volumes are those of the Collector. The API server counts those of a StatefulSet's claims first, in an order that changes,
// and checks the claims' names there.
func volumes(p place) string {
	claims, _ := at(p.object, "spec.volumeClaimTemplates").([]any)
	switch {
	case p.index < 0:
		return "spec.extraVolumes"
	case at(p.object, "kind") == "Job":
		return volumesOfCheck(p)
	case p.index >= len(claims):
		p.index -= len(claims)
		return items("spec.extraVolumes")(p)
	case len(claims) > 1:
		return "spec.volumeClaimTemplates"
	}
	return "spec.volumeClaimTemplates[0].metadata.name"
}

// volumesOfCheck are those of the Collector, which the chart has before empty ones in place of its claims.
func volumesOfCheck(p place) string {
	length := func(of map[string]any, list string) int {
		items, _ := at(of, list).([]any)
		return len(items)
	}
	given := length(p.collector, "spec.extraVolumes")
	claims := length(p.collector, "spec.volumeClaimTemplates") + length(p.collector, "spec.volumeClaims")
	index := p.index - (length(p.object, p.from) - given - claims)
	if index < 0 || index >= given {
		return ""
	}
	return fmt.Sprintf("spec.extraVolumes[%d]%s", index, p.below)
}

// peers are those of the Collector. The chart has no others that can be refused: those of the operator, for a flow, come first.
func peers(p place) string {
	rest, isPeer := strings.CutPrefix(p.below, ".from")
	if !isPeer {
		return ""
	}
	return "spec.networkPolicy.ingressFrom" + rest
}

// sharedClaim is one of those that all pods of the Collector share, by its name.
func sharedClaim(p place) string {
	given, _ := at(p.collector, "spec.volumeClaims").([]any)
	for i := range given {
		field := fmt.Sprintf("spec.volumeClaims[%d].", i)
		if at(p.object, "metadata.name") == fmt.Sprint(at(p.collector, "metadata.name"), "-", at(p.collector, field+"metadata.name")) {
			return field + p.from + p.rest
		}
	}
	return ""
}

// ports is the map of the Collector that the chart makes a list of. It has one number for those of the list, and the port's
// name is its key.
func ports(p place) string {
	name := p.name("name")
	if name == "" {
		return "spec.ports"
	}
	has := func(field string) bool { return at(p.collector, "spec.ports."+name+field) != nil }
	switch {
	case p.below == ".hostPort" && has(".hostPort"):
	case (p.below == ".containerPort" || p.below == ".targetPort") && has(".targetPort"):
		p.below = ".targetPort"
	case p.below == ".containerPort", p.below == ".hostPort":
		p.below = ".port"
	case p.below == ".name", p.below == ".targetPort":
		p.below = ""
	}
	return fmt.Sprintf("spec.ports[%s]%s", name, p.below)
}

// metrics are the two targets of the Collector that the chart makes metrics of, and its metrics.
func metrics(p place) string {
	if name := items("spec.autoscaling.metrics")(p); name != "" && p.index >= 0 {
		return name
	}
	return "spec.autoscaling" + map[string]string{
		"cpu":    ".targetCPUUtilizationPercentage",
		"memory": ".targetMemoryUtilizationPercentage",
	}[p.name("resource.name")]
}

// hosts are those of the Collector's Ingress.
func hosts(p place) string { return "spec.ingress.hosts" + strings.Replace(p.rest, ".http.", ".", 1) }

// at returns what is at a path such as "spec.containers[0].name" in value, or nil.
func at(value any, path string) any {
	for step := range strings.FieldsFuncSeq(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
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
