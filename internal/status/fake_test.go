package status_test

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/status"
)

// update has a status updated where a Deployment serves, and returns what reached the API server, or nil.
func update(t *testing.T, stored, updated string, outcomes status.Outcomes, events record.EventRecorder) (written *unstructured.Unstructured) {
	t.Helper()
	recording := receiving(t, &written)
	c := fake.NewClientBuilder().WithObjects(collector(t, stored), served(t)).WithInterceptorFuncs(recording).Build()
	if err := status.NewClient(c, c, outcomes, flows{}, events).Status().Update(t.Context(), collector(t, updated)); err != nil {
		t.Fatal(err)
	}
	return written
}

// receiving keeps a Collector with the status that is written last. The API server answers with the resource version 1000.
func receiving(t *testing.T, written **unstructured.Unstructured) interceptor.Funcs {
	t.Helper()
	return interceptor.Funcs{SubResourcePatch: func(
		_ context.Context, _ client.Client, resource string, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption,
	) error {
		text, err := patch.Data(obj)
		var operations []struct {
			Path  string `json:"path"`
			Value any    `json:"value"`
		}
		if err = errors.Join(err, json.Unmarshal(text, &operations)); err != nil {
			t.Fatal(err)
		}
		isWhole := len(operations) == 2 && operations[0].Path == "/metadata/resourceVersion" && operations[1].Path == "/status"
		if resource != "status" || patch.Type() != types.JSONPatchType || !isWhole {
			t.Fatalf("a %s of %s is sent: %s", patch.Type(), resource, text)
		}
		*written = &unstructured.Unstructured{Object: map[string]any{"status": operations[1].Value}}
		obj.SetResourceVersion("1000")
		return nil
	}}
}

// served returns a Deployment whose pods serve.
func served(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	workload := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: gateway, namespace: team-a, generation: 2},
		spec: {replicas: 1}, status: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1}}`),
		&workload.Object); err != nil {
		t.Fatal(err)
	}
	return workload
}

// timeless returns a Collector's status without the times of now.
func timeless(obj *unstructured.Unstructured) any {
	if obj == nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, item := range list {
		condition := item.(map[string]any)
		if at, _ := condition["lastTransitionTime"].(string); at > "2026-02-03" {
			delete(condition, "lastTransitionTime")
		}
	}
	fields := obj.DeepCopy().Object["status"].(map[string]any)
	fields["conditions"] = list
	return fields
}

func collector(t *testing.T, statusYAML string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kube8.dev/v1alpha1",
		"kind":       "Collector",
		"metadata":   map[string]any{"name": "gateway", "namespace": "team-a", "generation": int64(3)},
	}}
	// As a client reads it: whole numbers are int64.
	text, err := yaml.YAMLToJSON([]byte(statusYAML))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	obj.Object["status"] = fields
	return obj
}
