package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// floorAccount is the ServiceAccount of the floor.
const floorAccount = "floor"

// floor measures a plain client that writes what the Collectors become, as many Collectors at a time as an operator
// works on, object by object, and does nothing else: it keeps no release and no status. No operator can be faster.
func (b *bench) floor(ctx context.Context) (figures, error) {
	installed, err := renderFleet(ctx, b.roots[0], newFleet(b.n, "1s"))
	if err != nil {
		return figures{}, err
	}
	configured, err := renderFleet(ctx, b.roots[0], newFleet(b.n, "2s"))
	if err != nil {
		return figures{}, err
	}
	upgraded, err := renderFleet(ctx, b.roots[1], newFleet(b.n, "2s"))
	if err != nil {
		return figures{}, err
	}
	config, err := b.plane.as(ctx, floorAccount)
	if err != nil {
		return figures{}, err
	}
	writer, err := newClient(config)
	if err != nil {
		return figures{}, err
	}
	measured := figures{Phases: map[string]phase{}}
	measure := func(name string, work, wanted objects, write func(context.Context, *unstructured.Unstructured) error) error {
		if _, err := b.plane.audit.since(floorAccount); err != nil { // what was before
			return err
		}
		began := time.Now()
		if err := each(ctx, b.workers, work, func(ctx context.Context, list []*unstructured.Unstructured) error {
			var errs []error
			for _, object := range list {
				errs = append(errs, write(ctx, object))
			}
			return errors.Join(errs...)
		}); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		seconds := time.Since(began).Seconds()
		requests, err := b.plane.audit.since(floorAccount)
		if err != nil {
			return err
		}
		each := perCollector(float64(len(requests)), b.n)
		measured.Phases[name] = phase{DoneSeconds: seconds, QuietSeconds: seconds, Requests: each, Writes: each}
		b.say("  %-12s done after %.1f s: %.1f requests per Collector", name, seconds, each)
		return b.verify(ctx, wanted)
	}
	create := func(ctx context.Context, object *unstructured.Unstructured) error {
		return writer.Create(ctx, object.DeepCopy())
	}
	patch := func(ctx context.Context, object *unstructured.Unstructured) error {
		text, err := json.Marshal(object)
		if err != nil {
			return err
		}
		return writer.Patch(ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType, text))
	}
	remove := func(ctx context.Context, object *unstructured.Unstructured) error {
		return writer.Delete(ctx, object.DeepCopy())
	}
	err = errors.Join(
		measure("install", installed, installed, create),
		measure("configChange", difference(installed, configured), configured, patch),
		measure("chartUpgrade", difference(configured, upgraded), upgraded, patch),
		measure("delete", upgraded, nil, remove),
	)
	return measured, err
}

// difference returns the objects of after that are not the same before.
func difference(before, after objects) objects {
	changed := make(objects, len(after))
	for i := range after {
		for k, object := range after[i] {
			if !reflect.DeepEqual(before[i][k].Object, object.Object) {
				changed[i] = append(changed[i], object)
			}
		}
	}
	return changed
}
