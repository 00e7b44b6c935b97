package sources

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// BasesChanged gets which Collectors a change of bases concerns.
type BasesChanged func(ctx context.Context, concerns func(*unstructured.Unstructured) bool)

// Watch follows bases and, with Namespaces, the namespaces that name some, with a controller. That waits until the informer cache has
// them. Its sources only serve to wait: changed has Collectors reconciled.
func (r *BaseReader) Watch(with controller.Controller, in cache.Cache, changed BasesChanged) error {
	objects := []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}}
	if r.Namespaces {
		objects = append(objects, &corev1.Namespace{})
	}
	var failed error
	for _, object := range objects {
		failed = errors.Join(failed, with.Watch(source.Kind(in, object, r.handler(changed))))
	}
	return failed
}

// MayRead returns an error that names the missing right, if the operator may not list bases, or the namespaces that name some. Its informer
// cache would only try for ever.
func (r *BaseReader) MayRead(ctx context.Context, live client.Reader) error {
	const see = "apply the roles of this version of the operator, see docs/how-to/bases.md"
	inNamespace := []client.ListOption{client.Limit(1), client.HasLabels{v1alpha1.BaseLabel}, client.InNamespace(r.Namespace)}
	for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &corev1.SecretList{}} {
		if err := live.List(ctx, list, inNamespace...); apierrors.IsForbidden(err) {
			return fmt.Errorf("list bases in namespace %s: %w; %s, or name another namespace by --bases-namespace", r.Namespace, err, see)
		}
	}
	if !r.Namespaces {
		return nil
	}
	if err := live.List(ctx, &corev1.NamespaceList{}, client.Limit(1), client.HasLabels{v1alpha1.BasesLabel}); apierrors.IsForbidden(err) {
		return fmt.Errorf("list the namespaces that name bases: %w; %s", err, see)
	}
	return nil
}

// handler tells of changes of the content, of positions and of what namespaces name. Each Collector is reconciled after a start, so what
// is there then is none.
func (r *BaseReader) handler(changed BasesChanged) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	tell := func(ctx context.Context, object client.Object) {
		changed(ctx, func(collector *unstructured.Unstructured) bool {
			if _, is := object.(*corev1.Namespace); is {
				return collector.GetNamespace() == object.GetName()
			}
			return r.names(ctx, collector, object.GetName())
		})
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, _ queue) {
			if !e.IsInInitialList {
				tell(ctx, e.Object)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, _ queue) {
			if !isSame(e.ObjectOld, e.ObjectNew) {
				tell(ctx, e.ObjectNew)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, _ queue) { tell(ctx, e.Object) },
	}
}
