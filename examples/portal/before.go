package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/internal/redact"
)

const (
	// beforeAnnotation has the spec that a Collector had before somebody saved it here last. The operator's own records of revisions are
	// Secrets, which the portal may not read.
	beforeAnnotation = "portal.kube8.dev/before"

	maxAnnotations = 256 << 10 // is what all annotations of an object may have together
)

// remember notes in a Collector what its spec was.
func remember(in *unstructured.Unstructured, spec any) {
	room := maxAnnotations
	for name, value := range in.GetAnnotations() {
		if name != beforeAnnotation {
			room -= len(name) + len(value)
		}
	}
	text, err := json.Marshal(spec)
	if err != nil || len(text) > room/2 { // others need some, too
		text = nil
	}
	annotate(in, beforeAnnotation, string(text))
}

// annotate leaves what is no map of annotations to the API server, which refuses it.
func annotate(object *unstructured.Unstructured, name, value string) {
	_ = unstructured.SetNestedField(object.Object, value, "metadata", "annotations", name)
}

// before returns the spec that was remembered, or nil.
func before(live *unstructured.Unstructured) (spec map[string]any) {
	if json.Unmarshal([]byte(live.GetAnnotations()[beforeAnnotation]), &spec) != nil {
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
			for name, field := range value {
				add(path+"."+name, field)
			}
		case []any:
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
