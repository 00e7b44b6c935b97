package drift

import (
	"context"
	"encoding/json"
	"hash/maphash"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/packed"
)

var seed = maphash.MakeSeed()

// Object is what an object looked like when it was in order: all but its status.
type Object struct {
	kind            schema.GroupVersionKind
	key             client.ObjectKey
	resourceVersion string
	hash            uint64
}

func newObject(found *unstructured.Unstructured) *Object {
	return &Object{
		kind:            found.GroupVersionKind(),
		key:             client.ObjectKeyFromObject(found),
		resourceVersion: found.GetResourceVersion(),
		hash:            hash(found),
	}
}

// IsStillInOrder tells whether the object in the cache is what o was, but for its status. It remembers the version that
// it saw, so that it compares each only once.
func (o *Object) IsStillInOrder(ctx context.Context, cache client.Reader) bool {
	like := &unstructured.Unstructured{}
	like.SetGroupVersionKind(o.kind)
	like.SetNamespace(o.key.Namespace)
	like.SetName(o.key.Name)
	found, err := read(ctx, cache, like, packed.Raw)
	switch {
	case err != nil:
		return false
	case found.GetResourceVersion() == o.resourceVersion:
		return true
	case hash(found) != o.hash:
		return false
	}
	o.resourceVersion = found.GetResourceVersion()
	return true
}

// hash returns a hash of obj, as the cache keeps it, without its status. It spoils obj.
func hash(obj *unstructured.Unstructured) uint64 {
	delete(obj.Object, "status")
	obj.SetResourceVersion("")
	text, err := json.Marshal(obj.Object) // sorts keys
	if err != nil {
		return 0 // never the case for what was read from JSON
	}
	return maphash.Bytes(seed, text)
}
