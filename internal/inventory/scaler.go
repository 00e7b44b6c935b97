package inventory

import (
	"context"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Scaler returns the autoscaler of a workload that is not the Collector's, or nothing: a HorizontalPodAutoscaler that has the workload as
// its target, or the object that it was created for, such as a ScaledObject of KEDA. It asks the API server, because the informer cache has
// only objects with the operator's label. So it is for a workload whose number of pods another client has set.
func (r *Reader) Scaler(ctx context.Context, collector client.Object, workload Reference) (scaler string, err error) {
	err = Each(ctx, r.Live, &autoscalingv2.HorizontalPodAutoscalerList{}, func(item runtime.Object) error {
		found, is := item.(*autoscalingv2.HorizontalPodAutoscaler)
		if is && scaler == "" && targets(found, workload) && !metav1.IsControlledBy(found, collector) {
			scaler = fmt.Sprintf("HorizontalPodAutoscaler %q", found.Name)
			if owner := metav1.GetControllerOf(found); owner != nil {
				scaler = fmt.Sprintf("%s %q", owner.Kind, owner.Name)
			}
		}
		return nil
	}, client.InNamespace(collector.GetNamespace()))
	if err != nil {
		return "", fmt.Errorf("list the HorizontalPodAutoscalers of namespace %s: %w", collector.GetNamespace(), err)
	}
	return scaler, nil
}

// targets tells whether an autoscaler scales a workload.
func targets(autoscaler *autoscalingv2.HorizontalPodAutoscaler, workload Reference) bool {
	target := autoscaler.Spec.ScaleTargetRef
	group := schema.FromAPIVersionAndKind(target.APIVersion, target.Kind).GroupKind()
	return autoscaler.DeletionTimestamp == nil && group == workload.Kind().GroupKind() && target.Name == workload.Name()
}
