package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/managedfields"
)

func (c cluster) Rewrite(ctx context.Context, request Request) error {
	current, err := c.Read(ctx, request.Ref)
	if err != nil {
		return err // the caller has another one to tell
	}
	if current != nil {
		request.Content = withoutDropped(request.Content, current)
	}
	if _, err = c.patch(ctx, request, types.MergePatchType); err != nil || request.DryRun {
		return err // as above
	}
	_, err = c.own(ctx, request.Ref, request.UID)
	return err
}

// withoutDropped returns the content of a merge that removes what an apply of the content removes: the fields that the operator has
// applied before, and the maps that are empty without these. A merge replaces lists as a whole.
func withoutDropped(content, current *unstructured.Unstructured) *unstructured.Unstructured {
	merged, left := content.DeepCopy(), current.DeepCopy()
	has := func(object *unstructured.Unstructured, path []string) bool {
		_, found, err := unstructured.NestedFieldNoCopy(object.Object, path...)
		return found || err != nil // the path goes through a list
	}
	var dropped [][]string
	for _, path := range managedfields.Applied(current.GetManagedFields()) {
		if has(content, path) {
			continue
		}
		dropped = append(dropped, path)
		unstructured.RemoveNestedField(left.Object, path...)
		for end := len(path) - 1; end > 0 && !has(content, path[:end]); end-- {
			if parent, _, _ := unstructured.NestedMap(left.Object, path[:end]...); len(parent) == 0 {
				unstructured.RemoveNestedField(left.Object, path[:end]...)
			}
		}
	}
	for _, path := range dropped {
		for end := range path {
			if !has(left, path[:end+1]) {
				_ = unstructured.SetNestedField(merged.Object, nil, path[:end+1]...) // which has no list in the way
				break
			}
		}
	}
	return merged
}
