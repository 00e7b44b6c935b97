package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// exampleBecomesReady says also whether the bundle names the image that the example runs, for those who mirror images.
func exampleBecomesReady(ctx context.Context, r *trial) error {
	return r.withExample(ctx, func(collector *unstructured.Unstructured) error {
		pods := &unstructured.UnstructuredList{}
		pods.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "PodList"})
		if err := r.List(ctx, pods, client.InNamespace(r.namespace),
			client.MatchingLabels{v1alpha1.CollectorLabel: collector.GetName()}); err != nil {
			return fmt.Errorf("list the Collector's pods: %w", err)
		}
		if len(pods.Items) == 0 {
			return errors.New("the Collector is ready and has no pods")
		}
		for _, pod := range pods.Items {
			containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
			for _, c := range containers {
				image, _ := c.(map[string]any)["image"].(string)
				if !r.isRelated(image) {
					return fmt.Errorf("image %s is not among the bundle's related images", image)
				}
				fmt.Fprintf(&r.log, "pod %s runs the related image %s\n", pod.GetName(), image)
			}
		}
		return nil
	})
}

func (r *trial) isRelated(image string) bool {
	for _, related := range r.csv.Spec.RelatedImages {
		if related.Image == image {
			return true
		}
	}
	return false
}

// deletedExampleLeavesNothing compares all that is in the namespace before the example and after it.
func deletedExampleLeavesNothing(ctx context.Context, r *trial) error {
	before, err := r.contents(ctx)
	if err != nil {
		return err
	}
	var meanwhile []string
	if err := r.withExample(ctx, func(*unstructured.Unstructured) error {
		meanwhile, err = r.contents(ctx)
		return err
	}); err != nil {
		return err
	}
	made := added(before, meanwhile)
	if len(made) < 2 {
		return fmt.Errorf("the Collector became nothing: %v", made)
	}
	fmt.Fprintf(&r.log, "with the Collector there were also: %s\n", strings.Join(made, ", "))
	var left []string
	err = wait.PollUntilContextTimeout(ctx, time.Second, timeout, true, func(ctx context.Context) (bool, error) {
		after, err := r.contents(ctx)
		left = added(before, after)
		return len(left) == 0, err
	})
	if err != nil {
		return fmt.Errorf("the deleted Collector left: %s (%w)", strings.Join(left, ", "), err)
	}
	return nil
}

// statusHasItsDescriptorsOnly says whether a console can show all of the status, and whether all that it shows is there.
func statusHasItsDescriptorsOnly(ctx context.Context, r *trial) error {
	return r.withExample(ctx, func(collector *unstructured.Unstructured) error {
		status, _, _ := unstructured.NestedMap(collector.Object, "status")
		return compare(status, r.csv)
	})
}

// lacking are the fields of the status that the example lacks: the platform has given it no base, brings no change, and refuses nothing.
var lacking = []string{"bases", "beforeUpdate", "canary", "refusedObject"}

func compare(status map[string]any, bundle csv) error {
	undescribed := maps.Clone(status)
	for _, owned := range bundle.Spec.CustomResourceDefinitions.Owned {
		for _, descriptor := range owned.StatusDescriptors {
			path := strings.Split(descriptor.Path, ".")
			if _, found, err := unstructured.NestedFieldNoCopy(status, path...); err != nil || !found && !slices.Contains(lacking, path[0]) {
				return fmt.Errorf("the status has no %s, which has a descriptor", descriptor.Path)
			}
			delete(undescribed, descriptor.Path)
		}
	}
	if len(undescribed) > 0 {
		return fmt.Errorf("no descriptor for: %s", strings.Join(slices.Sorted(maps.Keys(undescribed)), ", "))
	}
	return nil
}

// contents lists every object in the namespace, but not the events, and not the pods of the scorecard.
func (r *trial) contents(ctx context.Context) ([]string, error) {
	lists, err := discovery.ServerPreferredNamespacedResources(r.discovery)
	if err != nil {
		return nil, fmt.Errorf("discover what there is: %w", err)
	}
	var out []string
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || resource.Kind == "Event" {
				continue
			}
			objects := &unstructured.UnstructuredList{}
			objects.SetGroupVersionKind(group.WithKind(resource.Kind + "List"))
			if err := r.List(ctx, objects, client.InNamespace(r.namespace)); err != nil {
				return nil, fmt.Errorf("list %s: %w", resource.Name, err)
			}
			for _, object := range objects.Items {
				if object.GetLabels()["app"] != "scorecard-test" {
					out = append(out, resource.Kind+"/"+object.GetName())
				}
			}
		}
	}
	return out, nil
}

// added returns what is in now and was not before.
func added(before, now []string) []string {
	return slices.DeleteFunc(slices.Clone(now), func(object string) bool { return slices.Contains(before, object) })
}
