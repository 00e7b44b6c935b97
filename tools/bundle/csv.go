package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// complete sets the image, the icon and the time of creation.
func complete(csv, base map[string]any, image, icon string) error {
	created, found, err := unstructured.NestedString(base, "metadata", "annotations", "createdAt")
	if err != nil || !found {
		return errors.New("the base has no annotation createdAt: set it to when this version was made")
	}
	related, _, err := unstructured.NestedSlice(base, "spec", "relatedImages")
	if err != nil {
		return fmt.Errorf("the base: %w", err)
	}
	related = append([]any{map[string]any{"name": "manager", "image": image}}, related...)
	return errors.Join(
		unstructured.SetNestedField(csv, created, "metadata", "annotations", "createdAt"),
		unstructured.SetNestedField(csv, image, "metadata", "annotations", "containerImage"),
		unstructured.SetNestedSlice(csv, related, "spec", "relatedImages"),
		unstructured.SetNestedSlice(csv, []any{map[string]any{"base64data": icon, "mediatype": "image/svg+xml"}}, "spec", "icon"),
	)
}

// describe gives each descriptor the CRD's description of its field. It refuses descriptors of fields that there are not,
// and a field without one.
func describe(csv, crd map[string]any) error {
	owned, _, err := unstructured.NestedSlice(csv, "spec", "customresourcedefinitions", "owned")
	if err != nil || len(owned) != 1 {
		return errors.New("the ClusterServiceVersion must own one CRD")
	}
	versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
	if err != nil || len(versions) != 1 {
		return errors.New("the CRD must have one version")
	}
	for descriptors, part := range map[string]string{"specDescriptors": "spec", "statusDescriptors": "status"} {
		schema, _, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", part)
		if err != nil {
			return fmt.Errorf("the CRD: %w", err)
		}
		list, _ := owned[0].(map[string]any)[descriptors].([]any)
		if err := describeAll(list, schema); err != nil {
			return fmt.Errorf("%s: %w", descriptors, err)
		}
	}
	if err := unstructured.SetNestedSlice(csv, owned, "spec", "customresourcedefinitions", "owned"); err != nil {
		return fmt.Errorf("the ClusterServiceVersion: %w", err)
	}
	return nil
}

func describeAll(descriptors []any, schema map[string]any) error {
	missing := properties(schema)
	for _, d := range descriptors {
		descriptor, _ := d.(map[string]any)
		path, _ := descriptor["path"].(string)
		field := schema
		for name := range strings.SplitSeq(path, ".") {
			field, _ = properties(field)[name].(map[string]any)
		}
		if field == nil {
			return fmt.Errorf("the CRD has no field %q", path)
		}
		delete(missing, path)
		text, _ := field["description"].(string)
		descriptor["description"] = strings.Join(strings.Fields(text), " ")
	}
	if len(missing) > 0 {
		return fmt.Errorf("these fields of the CRD have none: %s", strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
	}
	return nil
}

func properties(schema map[string]any) map[string]any {
	found, _ := schema["properties"].(map[string]any)
	return maps.Clone(found)
}
