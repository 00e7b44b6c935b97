// Package status is the last step of the data flow: it keeps what the stock reconciler writes into a Collector's status
// truthful and cheap.
//
// It decorates the reconciler's client. The reconciler rewrites the whole status on every pass, with the release's
// manifest in it and with conditions that have flipped there and back within the pass; the decorated client leaves the
// manifest out, adds the condition Ready, gives conditions that are what they were their transition time back, and drops
// a write that would change nothing. Without that, each write would be an event that starts another pass.
package status

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewClient returns c with its status writer decorated. c should read Collectors from a cache: the writer compares
// each status with the one that c reads.
func NewClient(c client.Client) client.Client {
	return decoratedClient{Client: c}
}

type decoratedClient struct{ client.Client }

// Status returns the decorated status writer.
func (c decoratedClient) Status() client.SubResourceWriter {
	return writer{SubResourceWriter: c.Client.Status(), reader: c.Client}
}

type writer struct {
	client.SubResourceWriter
	reader client.Reader
}

// Update writes obj's status, unless it says nothing new. obj must be unstructured, as the stock reconciler's are.
func (w writer) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	updated, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("status of a %T cannot be written, only of an unstructured object", obj)
	}
	current := &unstructured.Unstructured{}
	current.SetGroupVersionKind(updated.GroupVersionKind())
	if err := w.reader.Get(ctx, client.ObjectKeyFromObject(updated), current); err != nil {
		return client.IgnoreNotFound(err)
	}

	unstructured.RemoveNestedField(updated.Object, "status", "deployedRelease", "manifest")
	ready, err := readinessOf(ctx, w.reader, updated)
	if err != nil {
		return err
	}
	if err := setReady(updated, ready); err != nil {
		return err
	}
	keepTransitionTimes(updated, current)
	if equality.Semantic.DeepEqual(updated.Object["status"], current.Object["status"]) {
		return nil
	}
	return w.SubResourceWriter.Update(ctx, updated, opts...)
}

// setReady sets obj's condition Ready, as of now.
func setReady(obj *unstructured.Unstructured, ready readiness) error {
	status := metav1.ConditionFalse
	if ready.ready {
		status = metav1.ConditionTrue
	}
	list := []any{map[string]any{
		"type": "Ready", "status": string(status), "reason": ready.reason, "message": ready.message,
		"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}}
	for _, condition := range conditions(obj) {
		if condition["type"] != "Ready" {
			list = append(list, condition)
		}
	}
	// By type, as the reconciler sorts them, so that the order says nothing new.
	slices.SortFunc(list, func(a, b any) int {
		return strings.Compare(fmt.Sprint(a.(map[string]any)["type"]), fmt.Sprint(b.(map[string]any)["type"]))
	})
	if err := unstructured.SetNestedSlice(obj.Object, list, "status", "conditions"); err != nil {
		return fmt.Errorf("set condition Ready of %s: %w", obj.GetName(), err)
	}
	return nil
}

// keepTransitionTimes gives each condition of updated whose status is still that of current its transition time back.
func keepTransitionTimes(updated, current *unstructured.Unstructured) {
	before := map[any]map[string]any{}
	for _, condition := range conditions(current) {
		before[condition["type"]] = condition
	}
	for _, condition := range conditions(updated) {
		if old, ok := before[condition["type"]]; ok && old["status"] == condition["status"] {
			condition["lastTransitionTime"] = old["lastTransitionTime"]
		}
	}
}

// conditions returns obj's conditions themselves, not copies.
func conditions(obj *unstructured.Unstructured) []map[string]any {
	list, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "status", "conditions")
	items, _ := list.([]any)
	found := make([]map[string]any, 0, len(items))
	for _, item := range items {
		if condition, ok := item.(map[string]any); ok {
			found = append(found, condition)
		}
	}
	return found
}
