package packed

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Raw is an option of Get and List: unstructured objects come as the cache keeps them. It is for who needs no more of
// them than their metadata, or whether they are still the same.
var Raw raw

type raw struct{}

// ApplyToGet does nothing: only the cache that NewCache makes knows the option.
func (raw) ApplyToGet(*client.GetOptions) {}

// ApplyToList does nothing: only the cache that NewCache makes knows the option.
func (raw) ApplyToList(*client.ListOptions) {}

var _ cache.NewCacheFunc = NewCache

// NewCache makes a cache that keeps unstructured objects packed, unless opts has another transform for their kind. It is
// for the options of a manager. Reads give the objects whole, in copies, unless they have the option Raw. What does not
// read through Get and List has the objects packed: the handlers of informers, and the functions of indices.
func NewCache(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
	opts.DefaultTransform = newPacker().transform
	informers, err := cache.New(cfg, opts)
	if err != nil {
		return nil, fmt.Errorf("create cache: %w", err)
	}
	return unpacking{informers}, nil
}

type unpacking struct{ cache.Cache }

// Get reads an object, whole.
func (u unpacking) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	found, ok := obj.(*unstructured.Unstructured)
	if !ok || isRaw(opts) {
		return u.Cache.Get(ctx, key, obj, opts...) //nolint:wrapcheck // a decorator returns what the decorated one returns
	}
	// It is copied when it is unpacked.
	if err := u.Cache.Get(ctx, key, found, append(slices.Clip(opts), client.UnsafeDisableDeepCopy)...); err != nil {
		return err //nolint:wrapcheck // see above
	}
	return Unpack(found)
}

// List reads objects, whole.
func (u unpacking) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	found, ok := list.(*unstructured.UnstructuredList)
	if !ok || isRaw(opts) {
		return u.Cache.List(ctx, list, opts...) //nolint:wrapcheck // see above
	}
	if err := u.Cache.List(ctx, found, append(slices.Clip(opts), client.UnsafeDisableDeepCopy)...); err != nil {
		return err //nolint:wrapcheck // see above
	}
	for i := range found.Items {
		if err := Unpack(&found.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func isRaw[option any](opts []option) bool {
	for _, opt := range opts {
		if _, found := any(opt).(raw); found {
			return true
		}
	}
	return false
}
