// Package packed keeps unstructured objects in the informer cache as text.
//
// An object of maps takes several times the memory of its JSON: a small map takes 340 bytes, each key is a string of its
// own, and a Deployment has some sixty maps. Reads copy them, and the garbage collector follows each pointer, again and
// again. A packed object has its metadata, which is what watches and handlers look at, and text in place of the rest.
//
// The package decorates the manager's cache, see NewCache. A transform packs what comes from the API server before
// anybody sees it, and reads give it whole. Events have it packed: Read is for them.
package packed

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	jsonutil "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

const (
	// textField is the field of a packed object that has, as JSON, what the others lack.
	textField = "kube8.dev/packed"

	// statusField has the status as JSON, in its own place because who looks for edits passes over it.
	statusField = "status"
)

var stripManagedFields = cache.TransformStripManagedFields()

// transform packs an unstructured object, and takes its managed fields from any object. It is for informers.
func (p *packer) transform(in any) (any, error) {
	stripped, err := stripManagedFields(in)
	if err != nil {
		return nil, fmt.Errorf("strip managed fields: %w", err)
	}
	obj, ok := stripped.(*unstructured.Unstructured)
	if !ok || isPacked(obj) {
		return stripped, nil
	}
	packed, err := pack(obj)
	if err != nil {
		return nil, fmt.Errorf("pack %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	p.share(packed)
	return packed, nil
}

func isPacked(obj *unstructured.Unstructured) bool {
	_, found := obj.Object[textField]
	return found
}

func pack(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	rest, packed := maps.Clone(obj.Object), make(map[string]any, 5)
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		packed[name] = rest[name]
		delete(rest, name)
	}
	if metadata, ok := packed["metadata"].(map[string]any); ok {
		kept := make(map[string]any, len(metadata)) // the one that was decoded has room for more
		maps.Copy(kept, metadata)
		// An object without a controller says by annotations whose it is.
		if annotations, found := kept["annotations"]; found && metav1.GetControllerOf(obj) != nil {
			delete(kept, "annotations")
			rest["metadata"] = map[string]any{"annotations": annotations}
		}
		packed["metadata"] = kept
	}
	if status, found := rest[statusField]; found {
		delete(rest, statusField)
		text, err := write(status)
		if err != nil {
			return nil, fmt.Errorf("write its status: %w", err)
		}
		packed[statusField] = text
	}
	text, err := write(rest)
	if err != nil {
		return nil, fmt.Errorf("write its text: %w", err)
	}
	packed[textField] = text
	return &unstructured.Unstructured{Object: packed}, nil
}

// write returns value as JSON. Unlike json.Marshal it leaves no copies behind, in between of which the text would stay.
func write(value any) (string, error) {
	var text strings.Builder
	err := json.NewEncoder(&text).Encode(value)
	return strings.TrimSuffix(text.String(), "\n"), err
}

// Unpack makes obj whole, if it is not. It gives obj maps of its own: the cache may have those that obj had.
func Unpack(obj *unstructured.Unstructured) error {
	whole := map[string]any{}
	if err := Read(obj, &whole); err != nil {
		return err
	}
	packed, _ := whole["metadata"].(map[string]any)
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		if value, found := obj.Object[name]; found {
			whole[name] = runtime.DeepCopyJSONValue(value)
		}
	}
	if metadata, ok := whole["metadata"].(map[string]any); ok {
		maps.Copy(metadata, packed)
	}
	obj.Object = whole
	return nil
}

// Read reads the fields of obj, packed or not, that into has, which is a pointer to a struct with the names of JSON. It
// is for what events have, and need not be made whole: all but apiVersion, kind and metadata, which are in obj.
func Read(obj *unstructured.Unstructured, into any) error {
	text, err := textOf(obj)
	if err != nil {
		return fmt.Errorf("read %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	if err := jsonutil.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return nil
}

// ReadStatus reads the status of obj, packed or not, into what into points to, and leaves that as it is if there is none.
// It does not read the rest of a packed object.
func ReadStatus(obj *unstructured.Unstructured, into any) error {
	text, packed := obj.Object[statusField].(string)
	if !packed || !isPacked(obj) {
		return Read(obj, &struct {
			Status any `json:"status"`
		}{into})
	}
	if err := jsonutil.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("read status of %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return nil
}

func textOf(obj *unstructured.Unstructured) ([]byte, error) {
	text, packed := obj.Object[textField].(string)
	if !packed {
		whole, err := json.Marshal(obj.Object)
		if err != nil {
			return nil, fmt.Errorf("write it: %w", err)
		}
		return whole, nil
	}
	status, found := obj.Object[statusField].(string)
	switch {
	case !found:
		return []byte(text), nil
	case text == "{}":
		return fmt.Appendf(nil, `{"status":%s}`, status), nil
	}
	return fmt.Appendf(nil, `{"status":%s,%s`, status, text[1:]), nil
}
