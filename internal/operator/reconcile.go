package operator

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/metrics"
	"github.com/kube8/kube8-operator/internal/status"
)

// measured is the stock reconciler, with its reconciles measured. How one went says when the next one is.
type measured struct {
	reconcile.Reconciler
	ended   func(client.ObjectKey) status.Outcome
	limiter *limiter
	metrics *metrics.Metrics
}

// Reconcile reconciles a Collector. It measures nothing of one that is paused or has gone: there is nothing to reconcile.
func (m *measured) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	collector, began := m.limiter.find(ctx, request.NamespacedName), time.Now()
	isPaused := false
	if collector != nil {
		isPaused, _ = v1alpha1.IsPaused(collector) // the stock reconciler logs the error
	}
	result, err := m.Reconciler.Reconcile(ctx, request)
	if collector == nil || isPaused {
		return result, err //nolint:wrapcheck // a decorator returns what the decorated one returns
	}
	ended := m.ended(request.NamespacedName)
	m.metrics.Reconciled(ended.Fast, err, time.Since(began))
	if err != nil {
		return reconcile.Result{}, err //nolint:wrapcheck // a decorator returns what the decorated one returns
	}
	result.RequeueAfter = m.limiter.Ended(collector, result.RequeueAfter, ended)
	return result, nil
}

// finder returns a Collector as the informer cache has it, or nil. It must not be changed.
type finder func(context.Context, client.ObjectKey) *unstructured.Unstructured

func newFinder(cached client.Reader, kind schema.GroupVersionKind) finder {
	return func(ctx context.Context, key client.ObjectKey) *unstructured.Unstructured {
		collector := &unstructured.Unstructured{}
		collector.SetGroupVersionKind(kind)
		if cached.Get(ctx, key, collector, client.UnsafeDisableDeepCopy) != nil {
			return nil
		}
		return collector
	}
}
