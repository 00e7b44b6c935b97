package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/operator"
	"github.com/kube8/kube8-operator/test/cputime"
)

// floorAccount is the ServiceAccount of the floor.
const floorAccount = "floor"

// step is a phase of the floor: what it writes, and how, and what then is there.
type step struct {
	name         string
	work, wanted objects
	write        func(context.Context, *unstructured.Unstructured) error
}

// floor measures a plain client that writes what the Collectors become, as many Collectors at a time as an operator
// works on, object by object, and does nothing else: it keeps no release and no status. No operator can be faster.
func (b *bench) floor(ctx context.Context) (figures, error) {
	measured := figures{Phases: map[string]phase{}}
	steps, err := b.floorSteps(ctx)
	if err != nil {
		return measured, err
	}
	for _, step := range steps {
		cost, err := b.floorPhase(ctx, step)
		if err != nil {
			return measured, fmt.Errorf("%s: %w", step.name, err)
		}
		b.say("  %-12s done after %.2f s: %.1f ms, %.1f requests per Collector", step.name, cost.DoneSeconds, cost.CPUMillis, cost.Requests)
		if slices.Contains(b.phases, step.name) {
			measured.Phases[step.name] = cost
		}
	}
	return measured, nil
}

func (b *bench) floorSteps(ctx context.Context) ([]step, error) {
	var versions [3]objects
	for i, version := range []struct{ root, timeout string }{{b.roots[0], "1s"}, {b.roots[0], "2s"}, {b.roots[1], "2s"}} {
		var err error
		if versions[i], err = renderFleet(ctx, version.root, newFleet(b.n, version.timeout)); err != nil {
			return nil, err
		}
	}
	installed, configured, upgraded := versions[0], versions[1], versions[2]
	config, err := b.plane.as(ctx, floorAccount)
	if err != nil {
		return nil, err
	}
	writer, err := newClient(config)
	if err != nil {
		return nil, err
	}
	for _, kind := range b.kinds { // which discovers them, before it counts
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := writer.List(ctx, list, client.Limit(1)); err != nil {
			return nil, err
		}
	}
	create := func(ctx context.Context, object *unstructured.Unstructured) error { return writer.Create(ctx, object) }
	patch := func(ctx context.Context, object *unstructured.Unstructured) error {
		text, err := json.Marshal(object)
		if err != nil {
			return err
		}
		return writer.Patch(ctx, object, client.RawPatch(types.MergePatchType, text))
	}
	return []step{
		{"install", installed, installed, create},
		{"configChange", difference(installed, configured), configured, func(ctx context.Context, object *unstructured.Unstructured) error {
			if isConfiguration(object) {
				return create(ctx, object)
			}
			return patch(ctx, object)
		}},
		{"chartUpgrade", difference(configured, upgraded), upgraded, patch},
		{"delete", withConfigurations(installed, upgraded), nil, func(ctx context.Context, object *unstructured.Unstructured) error {
			return writer.Delete(ctx, object)
		}},
	}, nil
}

func (b *bench) floorPhase(ctx context.Context, s step) (phase, error) {
	if _, err := b.plane.audit.since(floorAccount); err != nil { // what was before
		return phase{}, err
	}
	used, began := cputime.Own(), time.Now() // while the floor writes, the bench does nothing else
	if err := each(ctx, b.ourWorkers(), s.work, func(ctx context.Context, list []*unstructured.Unstructured) error {
		for _, object := range list {
			if err := s.write(ctx, object.DeepCopy()); err != nil { // the client writes the answer into it
				return err
			}
		}
		return nil
	}); err != nil {
		return phase{}, err
	}
	seconds, took := time.Since(began).Seconds(), cputime.Own()-used
	requests, err := b.plane.audit.since(floorAccount)
	if err != nil {
		return phase{}, err
	}
	return phase{
		DoneSeconds: seconds, QuietSeconds: seconds,
		CPUMillis: perCollector(float64(took)/float64(time.Millisecond), b.n),
		Requests:  perCollector(float64(len(requests)), b.n),
		Writes:    perCollector(float64(counts{}.add(requests)), b.n),
	}, b.verify(ctx, s.wanted)
}

// ourWorkers is how many Collectors our operator works on at a time.
func (o options) ourWorkers() int {
	if o.workers > 0 {
		return o.workers
	}
	return (&operator.Options{}).Workers()
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

// withConfigurations returns objects with the Secrets of the configurations of before.
func withConfigurations(before, after objects) objects {
	all := make(objects, len(after))
	for i := range after {
		all[i] = slices.Clone(after[i])
		for _, object := range before[i] {
			if isConfiguration(object) {
				all[i] = append(all[i], object)
			}
		}
	}
	return all
}
