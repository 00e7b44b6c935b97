// Package status is the last step of the data flow: it keeps what the stock reconciler writes into a Collector's status
// truthful and cheap, and tells the news in events.
//
// It decorates the reconciler's client. The reconciler rewrites the whole status each time. It writes the release's manifest
// and conditions that have flipped there and back within one reconcile, and drops fields that it does not know. The decorated
// client leaves the manifest out, and adds the condition Ready and the state of release and pods. It gives a condition whose
// status is the same its transition time back. It drops a write that would change nothing. A status starts no
// reconcile, see News.
package status

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/redact"
)

// Outcomes says how the last reconcile of a Collector ended, until that is forgotten.
type Outcomes interface {
	Of(collector client.Object) Outcome
	Forget(collector client.ObjectKey)
}

// NewClient returns c with its status writer decorated. c should read Collectors, workloads and pods from a cache: the
// writer compares each status with the one that c reads. apiReader reads events from the API server.
func NewClient(c client.Client, apiReader client.Reader, outcomes Outcomes, flows Flows, events record.EventRecorder) client.Client {
	return decoratedClient{
		Client: c, apiReader: apiReader, outcomes: outcomes, flows: flows, events: events, written: &written{}, answers: &answers{},
		refusals: &refusals{events: events},
	}
}

// written has the Collectors whose status was written and is not in the cache yet, by their keys.
type written struct{ sync.Map }

// newer returns what was written of a Collector, if that is newer than what the cache has, or else cached.
func (w *written) newer(cached *unstructured.Unstructured) *unstructured.Unstructured {
	key := client.ObjectKeyFromObject(cached)
	found, _ := w.Load(key)
	known, ok := found.(*unstructured.Unstructured)
	if !ok {
		return cached
	}
	if known.GetUID() != cached.GetUID() || !live.IsOlder(cached.GetResourceVersion(), known.GetResourceVersion()) {
		w.Delete(key)
		return cached
	}
	return known
}

// keep notes what was written: of the object no more than is asked for.
func (w *written) keep(object *unstructured.Unstructured) {
	known := &unstructured.Unstructured{Object: map[string]any{"status": object.Object["status"]}}
	known.SetUID(object.GetUID())
	known.SetResourceVersion(object.GetResourceVersion())
	w.Store(client.ObjectKeyFromObject(object), known)
}

type decoratedClient struct {
	client.Client
	apiReader client.Reader
	outcomes  Outcomes
	flows     Flows
	events    record.EventRecorder
	written   *written
	answers   *answers
	refusals  *refusals
}

// Get reads a Collector. It does not find a Collector that only another client's finalizer keeps: the operator is done with
// it, and no worker waits until it has gone. Get forgets a Collector that is not found. No other reconcile of it can begin to remember
// it meanwhile. Its status is the last that was written, which the informer cache may not have yet: by an older one a Collector would
// still be on its way, and take the next change at once.
func (c decoratedClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, obj, opts...)
	if collector, is := obj.(*unstructured.Unstructured); is && err == nil {
		if known := c.written.newer(collector); known != collector {
			collector.Object["status"] = known.DeepCopy().Object["status"]
		}
	}
	if err == nil && obj.GetDeletionTimestamp() != nil && !controllerutil.ContainsFinalizer(obj, cache.UninstallFinalizer) {
		err = apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("collectors").GroupResource(), key.Name)
	}
	if apierrors.IsNotFound(err) {
		c.outcomes.Forget(key)
		c.written.Delete(key)
		c.answers.Delete(key)
		c.refusals.forget(key)
	}
	return err //nolint:wrapcheck // a decorator returns what the decorated one returns
}

// Update writes obj's finalizers. The stock reconciler changes nothing else, and what the informer cache has of a Collector may be less
// than what its user wrote. It is an error if that are finalizers.
func (c decoratedClient) Update(ctx context.Context, obj client.Object, _ ...client.UpdateOption) error {
	if err := cache.CheckFinalizers(obj); err != nil {
		return fmt.Errorf("write the finalizers of %s: %w", obj.GetName(), err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": obj.GetResourceVersion(), "finalizers": obj.GetFinalizers(),
	}})
	if err != nil {
		return fmt.Errorf("write the finalizers of %s: %w", obj.GetName(), err)
	}
	isGoing, effect := obj.GetDeletionTimestamp() != nil, "does nothing"
	if isGoing {
		effect = "cannot let the Collector go"
	}
	err = redact.RefusalOfCollector(c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch)))
	switch isOrphaning := controllerutil.ContainsFinalizer(obj, metav1.FinalizerOrphanDependents); {
	case err == nil && isGoing && isOrphaning:
		c.events.Event(obj, "Normal", "Orphaned", "all objects of the Collector stay: it is deleted with --cascade=orphan")
	case err == nil && isGoing:
		c.events.Event(obj, "Normal", "Uninstalled", "the operator has requested the deletion of all objects that the Collector controlled")
	}
	// The reconciler writes no status before it has its finalizer.
	c.refusals.tell(obj, finalizerRefused, "the operator cannot write the Collector's finalizers, so it "+effect+": %s", err)
	return err
}

// Status returns the decorated status writer.
func (c decoratedClient) Status() client.SubResourceWriter { return writer{c.Client.Status(), c} }

type writer struct {
	client.SubResourceWriter
	decoratedClient
}

// Update writes obj's status, unless it says nothing new. obj must be unstructured, as the stock reconciler's are.
func (w writer) Update(ctx context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
	updated, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("status of a %T cannot be written, only of an unstructured object", obj)
	}
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(updated.GroupVersionKind())
	if err := w.Client.Get(ctx, client.ObjectKeyFromObject(updated), stored, client.UnsafeDisableDeepCopy); err != nil { // only read
		return client.IgnoreNotFound(err)
	}
	if stored.GetUID() != updated.GetUID() {
		return nil // another Collector has the name by now, and the status went with the one before
	}
	stored = w.written.newer(stored)
	if live.IsOlder(updated.GetResourceVersion(), stored.GetResourceVersion()) {
		updated.SetResourceVersion(stored.GetResourceVersion())
	}
	before, err := statusOf(stored)
	if err != nil {
		return err
	}
	said, err := statusOf(updated)
	if err != nil {
		return err
	}
	seen, err := w.look(ctx, updated, before, said)
	if err != nil {
		return err
	}
	after := Next(seen, before, said)
	deployed := find(after, "Deployed")
	if updated.GetDeletionTimestamp() != nil && deployed != nil && deployed.Reason == "UninstallSuccessful" {
		return nil // the Collector goes with the next request, and its status with it
	}
	written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if err != nil {
		return fmt.Errorf("write status of %s: %w", updated.GetName(), err)
	}
	updated.Object["status"] = written
	if equality.Semantic.DeepEqual(written, stored.Object["status"]) {
		return nil
	}
	if err := redact.RefusalOfCollector(w.replace(ctx, updated)); err != nil {
		w.refusals.tell(updated, statusRefused, "the API server refuses the Collector's status, so the status is not up to date: %s; "+
			"let the operator's ServiceAccount patch collectors/status", err)
		return err
	}
	w.written.keep(updated)
	w.announce(updated, before, after, seen.Outcome.Proven)
	return nil
}

// replace writes the status of a Collector, if that has not changed meanwhile. An update would send the spec too, and get it back.
func (w writer) replace(ctx context.Context, collector *unstructured.Unstructured) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": collector.GetResourceVersion()},
		{"op": "add", "path": "/status", "value": collector.Object["status"]},
	})
	if err != nil {
		return fmt.Errorf("write status of %s: %w", collector.GetName(), err)
	}
	answer := cache.New(collector.GroupVersionKind())
	answer.SetNamespace(collector.GetNamespace())
	answer.SetName(collector.GetName())
	if err := w.Patch(ctx, answer, client.RawPatch(types.JSONPatchType, patch)); err != nil {
		return err
	}
	collector.SetResourceVersion(answer.GetResourceVersion())
	return nil
}

// look returns what the next status is computed from. It reads the workload and its pods from the informer cache, and asks the API server
// only about events and the rights of presets. It looks at pods only if Ready depends on them.
func (w writer) look(
	ctx context.Context, collector *unstructured.Unstructured, before, said *v1alpha1.CollectorStatus,
) (seen Seen, err error) {
	seen = Seen{
		Collector: collector, Now: metav1.Now().Rfc3339Copy(), Outcome: w.outcomes.Of(collector),
		Flow: Flow{w.flows.Condition(collector), w.flows.AreAwaited(), w.flows.Observed(collector)},
	}
	isPaused := isTrue(said, paused)
	if !isPaused {
		seen.Presets = w.presetsOf(ctx, collector, before, seen.Now.Time)
	}
	seen.Workload, err = w.workloadOf(ctx, collector)
	if job := seen.Outcome.obstructed(); err == nil && job != "" {
		seen.Troubles, err = w.troublesOfCheck(ctx, collector, job)
		return seen, err
	}
	if err == nil && seen.Workload != nil && (isPaused || seen.undeployed(said) == nil) {
		seen.Troubles, err = w.troubles(ctx, collector, seen.Workload)
	}
	return seen, err
}

// statusOf reads obj's status. It leaves out what the schema does not have, such as the release's manifest.
func statusOf(obj *unstructured.Unstructured) (*v1alpha1.CollectorStatus, error) {
	status := &v1alpha1.CollectorStatus{}
	fields, _ := obj.Object["status"].(map[string]any) // nil if there is none yet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, status); err != nil {
		return nil, fmt.Errorf("read status of %s: %w", obj.GetName(), err)
	}
	return status, nil
}
