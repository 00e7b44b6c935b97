package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/redact"
)

const (
	// beforeAnnotation has the spec that a Collector had before the portal changed it last. The operator's own records of revisions are
	// Secrets, which the portal may not read.
	beforeAnnotation = "portal.kube8.dev/before"

	// maxAnnotations is how much all annotations of an object may have together.
	maxAnnotations = 256 << 10

	// maxDifferences is how many of them a page has.
	maxDifferences = 100
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

// remembered returns the annotation that an apply gives a Collector, with the spec from before it.
func (p *portal) remembered(ctx context.Context, live *unstructured.Unstructured, apply any) (map[string]string, error) {
	text, err := json.Marshal(apply)
	if err != nil {
		return nil, fmt.Errorf("write the Collector: %w", err)
	}
	after := live.DeepCopy()
	err = p.collectors.Patch(ctx, after, client.RawPatch(types.ApplyPatchType, text), fieldManager, client.ForceOwnership, client.DryRunAll)
	if err != nil {
		return nil, fmt.Errorf("apply the Collector: %w", err)
	}
	was := live.DeepCopy()
	if after.GetGeneration() != live.GetGeneration() {
		remember(was, live.Object["spec"])
	}
	if text, has := was.GetAnnotations()[beforeAnnotation]; has {
		return map[string]string{beforeAnnotation: text}, nil
	}
	return nil, nil
}

func annotate(object *unstructured.Unstructured, name, value string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	object.SetAnnotations(annotations)
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
		if (was[field] != is[field] || had != has) && len(found) < maxDifferences {
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
