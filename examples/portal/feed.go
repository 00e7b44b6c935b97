package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// settleEvery is how often a new reader looks whether it has all of the list.
const settleEvery = 20 * time.Millisecond

// pageSize is how many Collectors a request lists.
const pageSize = 20

// feeds are the namespaces that browsers read. However many read one, the portal watches it once.
type feeds struct {
	collectors  client.WithWatch
	mutex       sync.Mutex
	byNamespace map[string]*feed
}

// feed is an informer for the Collectors of a namespace.
type feed struct {
	cache.SharedIndexInformer
	readers int
	ctx     context.Context // of the informer: it ends with the last reader, or with the right to read
	end     context.CancelFunc
}

// change is what an informer says of a Collector.
type change struct {
	collector *v1alpha1.Collector
	isDeleted bool
}

// follow sends the Collectors of a namespace, and then what changes, until ctx ends. It calls lost if the feed ends before. hasList tells
// whether all that there were are sent.
func (f *feeds) follow(ctx context.Context, lost func(), namespace string, changes chan<- change) (
	hasList func() bool, leave func(), err error,
) {
	joined, err := f.join(ctx, namespace)
	if err != nil {
		return nil, nil, err
	}
	forget := context.AfterFunc(joined.ctx, lost)
	hasList, stop, err := joined.read(ctx, changes)
	if err != nil {
		forget()
		f.leave(namespace, joined)
		return nil, nil, err
	}
	return hasList, func() { stop(); forget(); f.leave(namespace, joined) }, nil
}

// join returns the feed of a namespace. Its reader leaves it. The error is that of the API server if the account cannot read there.
func (f *feeds) join(ctx context.Context, namespace string) (*feed, error) {
	if joined := f.attach(namespace, false); joined != nil {
		return joined, nil
	}
	if err := f.collectors.List(ctx, &v1alpha1.CollectorList{}, client.InNamespace(namespace), client.Limit(1)); err != nil {
		return nil, fmt.Errorf("list Collectors: %w", err)
	}
	return f.attach(namespace, true), nil
}

// attach returns the feed of a namespace with one reader more. It is nil if there is none, unless it is to begin.
func (f *feeds) attach(namespace string, begin bool) *feed {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	found := f.byNamespace[namespace]
	if found == nil && begin {
		found = f.begin(namespace)
		f.byNamespace[namespace] = found
	}
	if found != nil {
		found.readers++
	}
	return found
}

// leave ends the feed of a namespace with its last reader, or when it has ended by itself.
func (f *feeds) leave(namespace string, left *feed) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if left.readers--; left.readers > 0 && left.ctx.Err() == nil {
		return
	}
	left.end()
	if f.byNamespace[namespace] == left {
		delete(f.byNamespace, namespace)
	}
}

// begin starts an informer. It keeps no configuration. An error ends it, and readers come back.
func (f *feeds) begin(namespace string) *feed {
	ctx, end := context.WithCancel(context.Background())
	in := client.InNamespace(namespace)
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			return listAll(ctx, f.collectors, namespace, shorten)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return f.collectors.Watch(ctx, &v1alpha1.CollectorList{}, in, &client.ListOptions{Raw: &options})
		},
	}, &v1alpha1.Collector{}, 0, nil)
	_ = informer.SetTransform(func(object any) (any, error) { // fails only once the informer runs
		if collector, is := object.(*v1alpha1.Collector); is {
			shorten(collector)
		}
		return object, nil
	})
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		cache.DefaultWatchErrorHandler(ctx, r, err)
		end()
	})
	go informer.RunWithContext(ctx)
	return &feed{SharedIndexInformer: informer, ctx: ctx, end: end}
}

// shorten leaves of a Collector what everybody is shown. The rest can be large.
func shorten(collector *v1alpha1.Collector) {
	for i := range collector.ManagedFields { // their names, labels and annotations tell whether a GitOps tool manages it
		collector.ManagedFields[i].FieldsV1 = nil
	}
	for _, name := range kept {
		delete(collector.Annotations, name)
	}
	collector.Finalizers = nil
	config := collector.Spec.Collector
	collector.Spec = v1alpha1.CollectorSpec{
		Collector: v1alpha1.CollectorConfig{Name: config.Name, Version: config.Version, ConfigurationSecret: config.ConfigurationSecret},
		Tenant:    collector.Spec.Tenant, Cluster: collector.Spec.Cluster,
	}
}

// listAll returns the Collectors of a namespace, each as a function leaves it. It reads some at a time: each can have a MiB.
func listAll(ctx context.Context, from client.Reader, namespace string, each func(*v1alpha1.Collector)) (*v1alpha1.CollectorList, error) {
	all := &v1alpha1.CollectorList{}
	for {
		var page v1alpha1.CollectorList
		if err := from.List(ctx, &page, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(all.Continue)); err != nil {
			return nil, err //nolint:wrapcheck // the caller says what failed
		}
		for i := range page.Items {
			each(&page.Items[i])
		}
		all.ListMeta, all.Items = page.ListMeta, append(all.Items, page.Items...)
		if all.Continue == "" {
			return all, nil
		}
	}
}

// read sends a reader the Collectors, and then what changes, until ctx ends.
func (f *feed) read(ctx context.Context, changes chan<- change) (hasList func() bool, stop func(), err error) {
	send := func(object any, isDeleted bool) {
		if last, is := object.(cache.DeletedFinalStateUnknown); is {
			object = last.Obj
		}
		if collector, is := object.(*v1alpha1.Collector); is {
			select {
			case changes <- change{collector, isDeleted}:
			case <-ctx.Done():
			}
		}
	}
	registered, err := f.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { send(object, false) },
		UpdateFunc: func(_, object any) { send(object, false) },
		DeleteFunc: func(object any) { send(object, true) },
	})
	if err != nil {
		return nil, nil, fmt.Errorf("follow Collectors: %w", err)
	}
	return registered.HasSynced, func() { _ = f.RemoveEventHandler(registered) }, nil
}
