package drift

import (
	"encoding/json"
	"fmt"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// unchanged tells whether live would stay as it is under the patch that the stock action client makes for it
// (pkg/client/actionclient.go, createPatch). Fields that expected does not have are left to others.
func unchanged(live, expected *unstructured.Unstructured) (bool, error) {
	liveJSON, err := json.Marshal(live.Object)
	if err != nil {
		return false, fmt.Errorf("write live object: %w", err)
	}
	expectedJSON, err := json.Marshal(expected.Object)
	if err != nil {
		return false, fmt.Errorf("write expected object: %w", err)
	}
	typed, err := scheme.Scheme.New(expected.GroupVersionKind())
	if err != nil { // a custom resource, whose lists have no merge keys
		return unchangedCustom(liveJSON, expectedJSON)
	}

	meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return false, fmt.Errorf("read merge keys of %s: %w", expected.GetKind(), err)
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(expectedJSON, expectedJSON, liveJSON, meta, true)
	if err != nil {
		return false, fmt.Errorf("compare %s %s: %w", expected.GetKind(), expected.GetName(), err)
	}
	if string(patch) == "{}" {
		return true, nil
	}
	patchedJSON, err := strategicpatch.StrategicMergePatch(liveJSON, patch, typed)
	if err != nil {
		return false, fmt.Errorf("compare %s %s: %w", expected.GetKind(), expected.GetName(), err)
	}
	patched := &unstructured.Unstructured{}
	if err := patched.UnmarshalJSON(patchedJSON); err != nil {
		return false, fmt.Errorf("compare %s %s: %w", expected.GetKind(), expected.GetName(), err)
	}
	return equality.Semantic.DeepEqual(live.Object, patched.Object), nil
}

func unchangedCustom(liveJSON, expectedJSON []byte) (bool, error) {
	operations, err := jsonpatch.CreatePatch(liveJSON, expectedJSON)
	if err != nil {
		return false, fmt.Errorf("compare custom resource: %w", err)
	}
	for _, operation := range operations {
		if operation.Operation != "remove" && (operation.Operation != "add" || operation.Value != nil) {
			return false, nil
		}
	}
	return true, nil
}
