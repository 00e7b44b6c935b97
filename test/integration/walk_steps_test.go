package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/offline"
	operatorcmd "github.com/kube8/kube8-operator/internal/operator"
	"github.com/kube8/kube8-operator/test/simulation"
)

func newWalker(ctx context.Context, w *watcher, first map[string]any) (*walker, error) {
	s, err := newSpace(ctx, w, simulation.First())
	if err != nil {
		return nil, err
	}
	renderer, err := offline.New(operatorcmd.Options{}, walkedAPIs())
	if err != nil {
		return nil, err
	}
	walks := &walker{space: s, offline: renderer, first: first, count: walkCount{fields: map[string]bool{}}}
	return walks, walks.begin(ctx)
}

// begin has the Collector become what each value is walked from.
func (w *walker) begin(ctx context.Context) error {
	if err := w.apply(ctx, w.first); err != nil {
		return err
	}
	if told := w.await(ctx); told != "" {
		return errors.New(told)
	}
	w.shape = w.settled(ctx, nil)
	return nil
}

// apply writes the spec.
func (w *walker) apply(ctx context.Context, spec map[string]any) error {
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": spec}})
	if err != nil {
		return err
	}
	collector := &unstructured.Unstructured{}
	collector.SetAPIVersion("kube8.dev/v1alpha1")
	collector.SetKind("Collector")
	collector.SetNamespace(w.namespace)
	collector.SetName("c")
	err = plane.client.Patch(ctx, collector, client.RawPatch(types.JSONPatchType, patch))
	if err == nil {
		w.generation = collector.GetGeneration()
	}
	return err
}

// await waits until the operator has deployed the spec, or has told why it does not. It returns what it has told then.
func (w *walker) await(ctx context.Context) (told string) {
	done := func() bool {
		collector := w.status()
		if collector == nil || collector.Generation < w.generation || collector.Status.ObservedGeneration < collector.Generation {
			return false
		}
		deployed, failed := collector.Status.DeployedRelease, conditionOf(collector, "ReleaseFailed")
		if deployed != nil && deployed.Generation == collector.Generation && failed.Status != corev1.ConditionTrue {
			told = ""
			return true
		}
		ready := conditionOf(collector, "Ready")
		told = ready.Message
		return ready.Reason != v1alpha1.ReasonProgressing && ready.Reason != v1alpha1.ReasonChecking
	}
	if !w.space.await(ctx, 20*time.Second, done) {
		return "nothing happens: " + told
	}
	return told
}

// settled returns what the Collector has become, once that is what is wanted, or does not change any more.
func (w *walker) settled(ctx context.Context, want map[string]string) (got map[string]string) {
	is := func() bool {
		before := got
		got = w.likeness(w.spec)
		for key := range got {
			if strings.HasPrefix(key, "PersistentVolumeClaim/") {
				delete(got, key) // they stay
			}
		}
		if want == nil {
			return gocmp.Equal(before, got)
		}
		return gocmp.Equal(want, got)
	}
	pollFor(ctx, 50*time.Millisecond, 15*time.Second, is)
	return got
}

func (w *walker) finds(value walked, format string, args ...any) {
	w.count.findings = append(w.count.findings, fmt.Sprintf("%s: %.80s: ", value.path, value.text)+fmt.Sprintf(format, args...))
}

// becomes writes the spec, and returns what is told of it: by the API server with its error, or by the operator.
func (w *walker) becomes(ctx context.Context, spec map[string]any) (told string, err error) {
	if err := w.apply(ctx, spec); err != nil {
		return err.Error(), err
	}
	return w.await(ctx), nil
}

// take has the Collector take a value, compares what becomes of it with what render says, and has it come back.
func (w *walker) take(ctx context.Context, value walked) {
	w.count.values++
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "kube8.dev/v1alpha1", "kind": "Collector",
		"metadata": map[string]any{"name": "c", "namespace": w.namespace}, "spec": value.spec,
	})
	if err != nil {
		w.finds(value, "%v", err)
		return
	}
	_, offline := w.offline.Render(ctx, bytes.NewReader(text))
	told, err := w.becomes(ctx, value.spec)
	isAdmitted := err == nil
	if !isAdmitted && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
		w.finds(value, "the API server fails: %v", err)
	}
	w.count.fields[value.path] = w.count.fields[value.path] || told == ""
	switch {
	case told == "":
		w.count.accepted++
		if offline != nil && !w.isOlder {
			w.finds(value, "render refuses what is deployed: %v", offline)
		}
	case w.isOlder && (strings.Contains(told, "field not declared in schema") || strings.Contains(told, "Unsupported value")):
		w.count.refused++ // pods of the API server's version do not have the field, or not with this value
	default:
		w.count.refused++
		// It depends on what was before, or on what else is in the cluster.
		isOfCluster := strings.Contains(told, "cannot be changed") || strings.Contains(told, "has no Secret") || strings.Contains(told, "cannot become")
		if offline == nil && !isOfCluster {
			w.finds(value, "render accepts what is refused: %s", told)
		} else if offline != nil && isAdmitted && !isNamed(value.path, offline.Error()) {
			w.finds(value, "render does not name the field: %v", offline)
		}
		if !isNamed(value.path, told) {
			w.finds(value, "the field is not named: %s", told)
		}
		if found := ours.FindString(told); isAdmitted && found != "" {
			w.finds(value, "%q: %s", found, told)
		}
	}
	if isAdmitted {
		w.comesBack(ctx, value)
	}
}

// comesBack has the Collector come back to the first spec, and compares its objects with those of before.
func (w *walker) comesBack(ctx context.Context, value walked) {
	told, _ := w.becomes(ctx, w.first)
	if told == "" {
		got := w.settled(ctx, w.shape)
		told = gocmp.Diff(w.shape, got)
	}
	w.forgetClaims(ctx)
	w.history.mutex.Lock()
	w.history.versions = nil
	w.history.mutex.Unlock()
	if told == "" {
		return
	}
	w.finds(value, "does not come back: %s", told)
	if err := w.renew(ctx); err != nil {
		w.finds(value, "%v", err)
	}
}

// forgetClaims deletes claims, which would stay.
func (w *walker) forgetClaims(ctx context.Context) {
	for _, object := range w.history.now() {
		if object.GetKind() == "PersistentVolumeClaim" {
			_ = plane.client.Delete(ctx, object.DeepCopy())
			free := &unstructured.Unstructured{Object: object.DeepCopy().Object}
			_ = plane.client.Patch(ctx, free, client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`)))
		}
	}
}

// renew replaces the Collector by another one.
func (w *walker) renew(ctx context.Context) error {
	if err := plane.client.Delete(ctx, w.collector); err != nil {
		return err
	}
	w.space.await(ctx, 10*time.Second, func() bool { return w.history.now()["Collector/c"] == nil })
	w.forgetClaims(ctx)
	w.collector = nil
	if err := w.create(ctx, simulation.First()); err != nil {
		return err
	}
	return w.begin(ctx)
}

// isNamed tells whether a message names a field, or what it is in.
func isNamed(path, message string) bool {
	parts := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]*", r) })
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(message, part) })
}
