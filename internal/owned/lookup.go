package owned

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cacheTimeout is how long a look into the informer cache may take. Only the first one at a kind takes longer than no
// time, and it must not hold a pass for ever where the operator may not list that kind.
const cacheTimeout = 10 * time.Second

// lookup finds the objects that infos name.
type lookup struct{ cached client.Reader }

// find returns the object as the informer cache has it, or as the API server has it if the cache has none. It returns
// nil if there is none.
func (l lookup) find(ctx context.Context, info *resource.Info) (*unstructured.Unstructured, error) {
	if isBuiltIn(info) {
		if found, err := l.inCache(ctx, info); err == nil && found != nil {
			return found, nil
		}
	}
	return live(info)
}

// findOwn is find for an object that bears the Collector's label if it is there, so that the cache has it.
func (l lookup) findOwn(ctx context.Context, info *resource.Info) (*unstructured.Unstructured, error) {
	if isBuiltIn(info) {
		return l.inCache(ctx, info)
	}
	return live(info)
}

func (l lookup) inCache(ctx context.Context, info *resource.Info) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, cacheTimeout)
	defer cancel()
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(info.Mapping.GroupVersionKind)
	err := l.cached.Get(ctx, client.ObjectKey{Namespace: info.Namespace, Name: info.Name}, found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s from the cache: %w", describe(info), err)
	}
	return found, nil
}

func live(info *resource.Info) (*unstructured.Unstructured, error) {
	obj, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if apierrors.IsNotFound(err) { // the object, or its kind
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", describe(info), err)
	}
	found, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("read %s: got a %T", describe(info), obj)
	}
	return found, nil
}

// isBuiltIn tells whether info is of a kind that no cluster lacks. The cache must not be asked for another: if its CRD
// has been removed, which the mapping does not tell, the cache would try to watch it for ever.
func isBuiltIn(info *resource.Info) bool {
	return scheme.Scheme.Recognizes(info.Mapping.GroupVersionKind)
}

func describe(info *resource.Info) string {
	return fmt.Sprintf("%s %q", info.Mapping.GroupVersionKind.Kind, info.Name)
}
