package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/offline"
	"github.com/kube8/kube8-operator/internal/operator"
)

// objects are what each Collector of a fleet becomes, in the order of the fleet.
type objects [][]*unstructured.Unstructured

// renderFleet returns what a fleet becomes with the chart in one of the roots.
func renderFleet(ctx context.Context, root string, fleet []*v1alpha1.Collector) (objects, error) {
	renderer, err := offline.New(operator.Options{WatchesFile: filepath.Join(root, "watches.yaml")}, nil)
	if err != nil {
		return nil, err
	}
	all := make(objects, len(fleet))
	for i, collector := range fleet {
		text, err := yaml.Marshal(collector)
		if err != nil {
			return nil, err
		}
		rendered, err := renderer.Render(ctx, bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		all[i] = rendered[0].Objects
	}
	return all, nil
}

// verify returns an error unless the cluster has exactly these objects of Collectors, with these labels and these
// configurations.
func (b *bench) verify(ctx context.Context, wanted objects) error {
	kinds := map[schema.GroupVersionKind]map[client.ObjectKey]*unstructured.Unstructured{}
	for _, kind := range b.kinds {
		kinds[kind] = map[client.ObjectKey]*unstructured.Unstructured{}
	}
	for _, list := range wanted {
		for _, object := range list {
			kinds[object.GroupVersionKind()][keyOf(object)] = object
		}
	}
	for kind, want := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := b.plane.client.List(ctx, list, client.HasLabels{v1alpha1.CollectorLabel}); err != nil {
			return err
		}
		found := 0
		for i := range list.Items {
			got := &list.Items[i]
			if got.GetLabels()["owner"] == "helm" {
				continue // a release, which some operators label as the rest
			}
			object, ok := want[keyOf(got)]
			if !ok {
				return fmt.Errorf("there is a %s %s/%s that should not be", kind.Kind, got.GetNamespace(), got.GetName())
			}
			if err := sameAs(object, got); err != nil {
				if isConfiguration(got) {
					continue // a configuration of before, which a revert would find
				}
				return fmt.Errorf("%s %s/%s: %w", kind.Kind, got.GetNamespace(), got.GetName(), err)
			}
			found++
		}
		if found != len(want) {
			return fmt.Errorf("there are %d of the kind %s, want %d", found, kind.Kind, len(want))
		}
	}
	return nil
}

// contentName is the end of the name that a Secret has after its content.
var contentName = regexp.MustCompile(`-config-[0-9a-f]{10}$`)

// keyOf returns the namespace of an object, and its name as the chart renders it.
func keyOf(object client.Object) client.ObjectKey {
	return client.ObjectKey{Namespace: object.GetNamespace(), Name: contentName.ReplaceAllString(object.GetName(), "-config")}
}

// isConfiguration tells whether an object is the Secret of a configuration that is named after its content.
func isConfiguration(object client.Object) bool { return keyOf(object).Name != object.GetName() }

// sameAs compares what the phases change: labels, and a Secret's content.
func sameAs(want, got *unstructured.Unstructured) error {
	for key, value := range want.GetLabels() {
		if got.GetLabels()[key] != value {
			return fmt.Errorf("label %s is %q, want %q", key, got.GetLabels()[key], value)
		}
	}
	wantData, _, _ := unstructured.NestedStringMap(want.Object, "data")
	gotData, _, _ := unstructured.NestedStringMap(got.Object, "data")
	if !labels.Equals(wantData, gotData) {
		return errors.New("the configuration is another one")
	}
	return nil
}
