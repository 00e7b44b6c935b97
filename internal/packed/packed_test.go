package packed

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const deployment = `{
  "apiVersion": "apps/v1", "kind": "Deployment",
  "metadata": {
    "name": "gateway", "namespace": "acme", "uid": "d", "resourceVersion": "7", "generation": 2,
    "labels": {"kube8.dev/collector": "gateway"}, "annotations": {"meta.helm.sh/release-name": "gateway"},
    "ownerReferences": [{"apiVersion": "kube8.dev/v1alpha1", "kind": "Collector", "name": "gateway", "uid": "c", "controller": true}]
  },
  "spec": {"replicas": 2, "ratio": 0.5, "template": {"spec": {"containers": [{"name": "collector", "args": []}]}}},
  "status": {"readyReplicas": 1, "conditions": [{"type": "Available"}]}
}`

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return obj
}

func transform(t *testing.T, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	out, err := newPacker().transform(obj)
	if err != nil {
		t.Fatal(err)
	}
	return out.(*unstructured.Unstructured)
}

func TestWhatIsPackedComesOutWhole(t *testing.T) {
	tests := map[string]string{
		"an object with a status":           deployment,
		"an object without a status":        `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "gateway"}, "data": {"a": "Yg=="}}`,
		"an object of metadata alone":       `{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "gateway"}}`,
		"an object of status alone":         `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "gateway"}, "status": {"phase": "Running"}}`,
		"an object without a controller":    `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "annotations": {"b": "c"}}, "data": {}}`,
		"an object whose status is no text": `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "status": "text"}`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			obj := transform(t, parse(t, text))
			if !isPacked(obj) {
				t.Error("is not packed")
			}
			if again := transform(t, obj); !cmp.Equal(again.Object, obj.Object) {
				t.Errorf("is packed again: %v", again.Object)
			}
			cached := obj.DeepCopy()
			for _, packed := range []*unstructured.Unstructured{obj, parse(t, text)} {
				whole := *packed // as a read without a copy has it
				if err := Unpack(&whole); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(parse(t, text).Object, whole.Object); diff != "" {
					t.Errorf("unpacked (-want +got):\n%s", diff)
				}
				whole.SetLabels(map[string]string{"changed": "by a reader"})
				unstructured.RemoveNestedField(whole.Object, "metadata", "name")
			}
			if diff := cmp.Diff(cached.Object, obj.Object); diff != "" {
				t.Errorf("the cache's object is changed by a reader (-want +got):\n%s", diff)
			}
		})
	}
}

func TestManagedFieldsAreNotKept(t *testing.T) {
	obj := parse(t, deployment)
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kube8-operator"}})
	if packed := transform(t, obj); packed.GetManagedFields() != nil {
		t.Error("they are")
	}
}

func TestAnObjectWithoutAControllerKeepsItsAnnotations(t *testing.T) {
	obj := parse(t, `{"apiVersion": "v1", "kind": "Secret", "metadata": {"annotations": {"operator-sdk/primary-resource": "acme/gateway"}}}`)
	// By them the stock reconciler's watches find the Collector of what stays when the Collector goes.
	if got := transform(t, obj).GetAnnotations()["operator-sdk/primary-resource"]; got != "acme/gateway" {
		t.Errorf("its owner is %q", got)
	}
}

func TestAnEditIsToldFromAChangeOfTheStatus(t *testing.T) {
	tests := map[string]struct {
		change func(*unstructured.Unstructured)
		edited bool
	}{
		"nothing":        {change: func(*unstructured.Unstructured) {}},
		"the status":     {change: func(o *unstructured.Unstructured) { set(o, int64(2), "status", "readyReplicas") }},
		"the spec":       {change: func(o *unstructured.Unstructured) { set(o, int64(3), "spec", "replicas") }, edited: true},
		"a label":        {change: func(o *unstructured.Unstructured) { o.SetLabels(nil) }, edited: true},
		"annotations":    {change: func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }, edited: true},
		"its controller": {change: func(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) }, edited: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			changed := parse(t, deployment)
			changed.SetResourceVersion("8")
			test.change(changed)
			before, after := transform(t, parse(t, deployment)), transform(t, changed)
			// As the stock reconciler's predicate for dependents compares them.
			for _, obj := range []*unstructured.Unstructured{before, after} {
				delete(obj.Object, "status")
				obj.SetResourceVersion("")
			}
			if edited := !cmp.Equal(before.Object, after.Object); edited != test.edited {
				t.Errorf("taken for an edit: %t", edited)
			}
		})
	}
}

func set(obj *unstructured.Unstructured, value any, path ...string) {
	if err := unstructured.SetNestedField(obj.Object, value, path...); err != nil {
		panic(err)
	}
}

func TestReadTakesWhatItIsAskedFor(t *testing.T) {
	for name, obj := range map[string]*unstructured.Unstructured{
		"packed": transform(t, parse(t, deployment)), "whole": parse(t, deployment),
	} {
		var fields struct {
			Spec struct {
				Replicas int64 `json:"replicas"`
			} `json:"spec"`
			Status struct {
				ReadyReplicas int64 `json:"readyReplicas"`
			} `json:"status"`
		}
		if err := Read(obj, &fields); err != nil || fields.Spec.Replicas != 2 || fields.Status.ReadyReplicas != 1 {
			t.Errorf("%s: %+v, %v", name, fields, err)
		}
	}
}

// TestAPackedObjectIsOfFewMaps guards the saving: maps are what takes the memory.
func TestAPackedObjectIsOfFewMaps(t *testing.T) {
	packer := newPacker()
	var maps []int
	for _, text := range []string{deployment, deployment} {
		out, err := packer.transform(parse(t, text))
		if err != nil {
			t.Fatal(err)
		}
		maps = append(maps, count(out.(*unstructured.Unstructured).Object))
	}
	// The object, its metadata, its labels, its owner.
	if want := []int{4, 4}; !slices.Equal(maps, want) {
		t.Errorf("it has %d maps, want %d", maps, want)
	}
	whole := parse(t, deployment)
	if got := count(whole.Object); got <= 8 {
		t.Errorf("the test has too simple an object, of %d maps", got)
	}
}

func count(value any) (maps int) {
	switch value := value.(type) {
	case map[string]any:
		maps++
		for _, field := range value {
			maps += count(field)
		}
	case []any:
		for _, item := range value {
			maps += count(item)
		}
	}
	return maps
}

func TestObjectsOfOneControllerShareWhatTheyHaveAlike(t *testing.T) {
	packer := newPacker()
	pack := func(text string) map[string]any {
		out, err := packer.transform(parse(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return out.(*unstructured.Unstructured).Object["metadata"].(map[string]any)
	}
	first, second := pack(deployment), pack(deployment)
	for _, field := range []string{"labels", "ownerReferences"} {
		if !same(first[field], second[field]) {
			t.Errorf("%s are kept twice", field)
		}
	}
}

// same tells whether two maps or slices are one.
func same(a, b any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

func TestReadStatus(t *testing.T) {
	tests := map[string]struct {
		text string
		want any
	}{
		"an object with a status":    {deployment, map[string]any{"readyReplicas": int64(1), "conditions": []any{map[string]any{"type": "Available"}}}},
		"an object without a status": {`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "gateway"}}`, nil},
		"a status that is text":      {`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "gateway"}, "status": "text"}`, "text"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			whole := parse(t, test.text)
			for _, obj := range []*unstructured.Unstructured{whole, transform(t, whole.DeepCopy())} {
				var got any
				if err := ReadStatus(obj, &got); err != nil || !cmp.Equal(got, test.want) {
					t.Errorf("got %v, %v; want %v", got, err, test.want)
				}
			}
		})
	}
}
