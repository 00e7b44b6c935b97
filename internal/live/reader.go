package live

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/helm"
)

const (
	// CacheDelay is how long the informer cache may take to show what was applied. After it the API server is asked.
	CacheDelay = time.Second

	// cacheTimeout is how long a look into the informer cache may take. Only the first look at a kind takes any time.
	cacheTimeout = 10 * time.Second
)

// Reader reads what Collectors have.
type Reader struct {
	// Cache reads from the informer cache, and Live from the API server.
	Cache, Live client.Reader

	late sync.Map // optional kinds that took longer than CacheDelay at the last look
}

// Of returns the objects of some kinds that a Collector controls, by the informer cache. An optional kind may have just gone from
// the cluster, and its objects with it. One whose API does not answer delays one look, and not all of them.
func (r *Reader) Of(ctx context.Context, collector client.Object, kinds, optional []schema.GroupVersionKind) (map[Reference]Object, error) {
	found, byController := map[Reference]Object{}, client.MatchingFields{cache.ControllerIndex: string(collector.GetUID())}
	for _, kind := range kinds {
		if err := read(ctx, r.Cache, collector, kind, cacheTimeout, byController, found); err != nil {
			return nil, err
		}
	}
	for _, kind := range optional {
		timeout := CacheDelay
		if _, isLate := r.late.Load(kind); isLate {
			timeout = time.Millisecond // no time at all if the informer has its objects by now
		}
		if err := read(ctx, r.Cache, collector, kind, timeout, byController, found); err != nil {
			r.late.Store(kind, true)
			continue
		}
		r.late.Delete(kind)
	}
	return found, nil
}

func read(
	ctx context.Context, from client.Reader, collector client.Object, kind schema.GroupVersionKind, timeout time.Duration,
	selected client.ListOption, into map[Reference]Object,
) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	list := cache.NewList(kind)
	if err := from.List(ctx, list, client.InNamespace(collector.GetNamespace()), selected, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the objects of kind %s: %w", kind.Kind, err)
	}
	return meta.EachListItem(list, keep(kind, collector, into)) //nolint:wrapcheck // fails never
}

// keep notes the objects of a kind that a Collector controls. A record of a revision is no object of the chart, even with such a label.
func keep(kind schema.GroupVersionKind, collector client.Object, into map[Reference]Object) func(runtime.Object) error {
	return func(item runtime.Object) error {
		kept, _ := cache.Strip(item)
		object, ok := kept.(client.Object)
		isRecord := kind.Kind == "Secret" && strings.HasPrefix(object.GetName(), helm.RecordPrefix)
		if ok && metav1.IsControlledBy(object, collector) && !isRecord {
			into[NewReference(kind, object.GetName())] = Of(object)
		}
		return nil
	}
}

// Disowned returns the workloads that the operator has applied for a Collector and that no longer have an owner reference. It asks the API
// server if the informer cache has no workload of the Collector's name, because a workload without its label is not there.
func (r *Reader) Disowned(ctx context.Context, collector client.Object, kinds []schema.GroupVersionKind) (disowned []Reference, err error) {
	for _, from := range []client.Reader{r.Cache, r.Live} {
		isThere := false
		for _, kind := range kinds {
			if !IsWorkload(kind.Kind) {
				continue
			}
			workload := cache.New(kind)
			err := from.Get(ctx, client.ObjectKeyFromObject(collector), workload)
			if client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("read %s %q: %w", kind.Kind, collector.GetName(), err)
			}
			isThere = isThere || err == nil
			if err == nil && metav1.GetControllerOfNoCopy(workload) == nil && Of(workload).Hash != "" {
				disowned = append(disowned, NewReference(kind, workload.GetName()))
			}
		}
		if isThere {
			break
		}
	}
	return disowned, nil
}

// Used returns what a Collector's pods use, and the pods that its workloads may start. It also returns the pods.
func (r *Reader) Used(ctx context.Context, collector client.Object, objects map[Reference]Object) (used Used, all []Pod, err error) {
	var pods corev1.PodList
	err = r.Cache.List(ctx, &pods, client.InNamespace(collector.GetNamespace()),
		client.MatchingLabels{v1alpha1.CollectorLabel: collector.GetName()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, nil, fmt.Errorf("list the Collector's pods in the informer cache: %w", err)
	}
	uses := make([]string, 0, len(pods.Items)+len(objects))
	for i := range pods.Items {
		uses = append(uses, pods.Items[i].Annotations[cache.UsesAnnotation])
		all = append(all, PodOf(&pods.Items[i]))
	}
	for _, object := range objects {
		uses = append(uses, object.Uses)
	}
	return UsedBy(uses...), all, nil
}
