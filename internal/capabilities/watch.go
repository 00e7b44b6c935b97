package capabilities

import (
	"context"
	"fmt"
	"time"

	"github.com/operator-framework/helm-operator-plugins/pkg/reconciler"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube8/kube8-operator/internal/packed"
)

const (
	// pace is the time between the passes over two Collectors. It leaves room for those that users wait for.
	pace = 15 * time.Millisecond

	// spread is the time for all of them. However many there are, each has its pass within a minute of a change.
	spread = 15 * time.Second
)

// Watch has the reconciler of kind make a pass over each Collector when what the cluster offers has changed. chosen says
// which Collectors the reconciler is for, and cached reads them from the informer cache.
func (c *Cache) Watch(cached client.Reader, kind schema.GroupVersionKind, chosen *metav1.LabelSelector) reconciler.ControllerSetupFunc {
	return func(controller reconciler.ControllerSetup) error {
		selector, err := metav1.LabelSelectorAsSelector(chosen)
		if err != nil {
			return fmt.Errorf("read the watch's selector: %w", err)
		}
		changes := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			c.asking.Lock()
			defer c.asking.Unlock()
			c.listeners = append(c.listeners, func(ctx context.Context) { c.addAll(ctx, cached, kind, selector, queue) })
			return nil
		})
		if err := controller.Watch(changes); err != nil {
			return fmt.Errorf("watch what the cluster offers: %w", err)
		}
		return nil
	}
}

func (c *Cache) addAll(
	ctx context.Context, cached client.Reader, kind schema.GroupVersionKind, selector labels.Selector,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	collectors := &unstructured.UnstructuredList{}
	collectors.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := cached.List(ctx, collectors, client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy, packed.Raw)
	if err != nil {
		c.log.Error(err, "cannot list what to look at now that the cluster offers something else", "kind", kind.Kind)
		return
	}
	for i := range collectors.Items {
		delay := time.Duration(i) * min(pace, spread/time.Duration(len(collectors.Items)))
		queue.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&collectors.Items[i])}, delay)
	}
}
