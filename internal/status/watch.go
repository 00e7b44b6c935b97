package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/operator-framework/helm-operator-plugins/pkg/reconciler"
)

// WatchWorkloads has the reconciler of kind make a pass over a Collector whenever the readiness of its workload
// changes: the stock reconciler's own watches pass over changes of a status.
func WatchWorkloads(mgr ctrl.Manager, kind schema.GroupVersionKind) reconciler.ControllerSetupFunc {
	return func(controller reconciler.ControllerSetup) error {
		owner := &unstructured.Unstructured{}
		owner.SetGroupVersionKind(kind)
		toOwner := handler.TypedEnqueueRequestForOwner[*unstructured.Unstructured](
			mgr.GetScheme(), mgr.GetRESTMapper(), owner, handler.OnlyControllerOwner())
		for _, gvk := range workloads {
			workload := &unstructured.Unstructured{}
			workload.SetGroupVersionKind(gvk)
			if err := controller.Watch(source.Kind(mgr.GetCache(), workload, toOwner, readinessChanged)); err != nil {
				return fmt.Errorf("watch %s: %w", gvk.Kind, err)
			}
		}
		return nil
	}
}

var readinessChanged = predicate.TypedFuncs[*unstructured.Unstructured]{
	CreateFunc:  func(event.TypedCreateEvent[*unstructured.Unstructured]) bool { return false },
	DeleteFunc:  func(event.TypedDeleteEvent[*unstructured.Unstructured]) bool { return false },
	GenericFunc: func(event.TypedGenericEvent[*unstructured.Unstructured]) bool { return false },
	UpdateFunc: func(e event.TypedUpdateEvent[*unstructured.Unstructured]) bool {
		return readinessOfWorkload(e.ObjectOld) != readinessOfWorkload(e.ObjectNew)
	},
}
