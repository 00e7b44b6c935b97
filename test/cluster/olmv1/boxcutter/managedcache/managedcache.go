// Package managedcache watches the objects that were installed, of kinds that are known only then.
package managedcache

import (
	"context"
	"errors"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

type TrackingCache interface {
	cache.Cache
	Source(handler.EventHandler, ...predicate.Predicate) source.Source
	Watch(context.Context, client.Object, sets.Set[schema.GroupVersionKind]) error
	Free(context.Context, client.Object) error
}

func NewTrackingCache(_ logr.Logger, config *rest.Config, options cache.Options) (TrackingCache, error) {
	objects, err := cache.New(config, options)
	return &tracking{Cache: objects, watched: sets.New[schema.GroupVersionKind]()}, err
}

type tracking struct {
	cache.Cache
	mutex   sync.Mutex
	watched sets.Set[schema.GroupVersionKind]
	start   func(source.Source) error // nil until the controller has started
	sources func(client.Object) source.Source
}

// Source is for one controller.
func (t *tracking) Source(events handler.EventHandler, predicates ...predicate.Predicate) source.Source {
	t.sources = func(kind client.Object) source.Source { return source.Kind(t.Cache, kind, events, predicates...) }
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		t.mutex.Lock()
		defer t.mutex.Unlock()
		t.start = func(s source.Source) error { return s.Start(ctx, queue) }
		return nil
	})
}

func (t *tracking) Watch(_ context.Context, _ client.Object, kinds sets.Set[schema.GroupVersionKind]) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.start == nil {
		return errors.New("the controller has not started yet")
	}
	for kind := range kinds.Difference(t.watched) {
		var object unstructured.Unstructured
		object.SetGroupVersionKind(kind)
		if err := t.start(t.sources(&object)); err != nil {
			return err
		}
		t.watched.Insert(kind)
	}
	return nil
}

// Free leaves the watches of kinds to the end of the program: other extensions may have objects of these kinds.
func (*tracking) Free(context.Context, client.Object) error { return nil }
