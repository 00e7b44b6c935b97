package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kube8/kube8-operator/internal/redact"
)

const (
	// beforeAnnotation has the spec that a Collector had before it was last saved here. The operator's own records of revisions are
	// Secrets, which the portal cannot read.
	beforeAnnotation = "portal.kube8.dev/before"

	maxAnnotations = 256 << 10 // is what all annotations of an object may have together
)

// remember notes in a Collector what its spec was.
func remember(in, live *unstructured.Unstructured) {
	room := maxAnnotations
	for name, value := range in.GetAnnotations() {
		if name != beforeAnnotation {
			room -= len(name) + len(value)
		}
	}
	text, err := json.Marshal(withoutContent(live, in))
	if err != nil || len(text) > room/2 { // others need some, too
		text = nil
	}
	annotate(in, beforeAnnotation, string(text))
}

// withoutContent returns the spec of what was. If the Collector takes its configuration from a Secret now, then no content is left in the
// spec: it can have the credentials that were moved. A way back keeps the Secret, and the files that there are now.
func withoutContent(was, now *unstructured.Unstructured) any {
	secret, isSecret, _ := unstructured.NestedFieldCopy(now.Object, "spec", "collector", "configurationSecret")
	spec, _, _ := unstructured.NestedFieldCopy(was.Object, "spec")
	config, isMap, _ := unstructured.NestedMap(was.Object, "spec", "collector")
	if !isSecret || secret == nil || !isMap {
		return spec
	}
	for _, field := range []string{"configuration", "configurationText"} {
		if _, has := config[field]; has {
			delete(config, field)
			config["configurationSecret"] = secret
		}
	}
	delete(config, "files")
	if files, has, _ := unstructured.NestedFieldCopy(now.Object, "spec", "collector", "files"); has {
		config["files"] = files
	}
	fields, _ := spec.(map[string]any)
	fields["collector"] = config
	return fields
}

// annotate leaves what is no map of annotations to the API server, which refuses it.
func annotate(object *unstructured.Unstructured, name, value string) {
	_ = unstructured.SetNestedField(object.Object, value, "metadata", "annotations", name)
}

// before returns the spec that was remembered, or nil.
func before(live *unstructured.Unstructured) (spec map[string]any) {
	if utiljson.Unmarshal([]byte(live.GetAnnotations()[beforeAnnotation]), &spec) != nil { // with integers, as a live Collector has
		return nil
	}
	return spec
}

// difference is a field that two specs have with other values.
type difference struct{ Field, Before, Now string }

// differences returns what differs between two specs, by field. It hides each text that can be confidential.
func differences(before, now map[string]any) (found []difference) {
	was, is := flat(before), flat(now)
	wasShown, isShown := flat(redact.Object(before)), flat(redact.Object(now))
	fields := maps.Clone(was)
	maps.Copy(fields, is)
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		_, had := was[field]
		_, has := is[field]
		if was[field] != is[field] || had != has {
			found = append(found, difference{field, wasShown[field], isShown[field]})
		}
	}
	return found
}

// flat returns the values of a spec by the paths of their fields.
func flat(spec map[string]any) map[string]string {
	found := map[string]string{}
	var add func(path string, value any)
	add = func(path string, value any) {
		switch value := value.(type) {
		case map[string]any:
			if len(value) == 0 {
				found[path] = "{}"
			}
			for name, field := range value {
				add(path+"."+name, field)
			}
		case []any:
			if len(value) == 0 {
				found[path] = "[]"
			}
			for i, item := range value {
				add(fmt.Sprintf("%s[%d]", path, i), item)
			}
		default:
			found[path] = fmt.Sprint(value)
		}
	}
	add("spec", spec)
	return found
}
