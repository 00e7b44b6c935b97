package live

import (
	"context"
	"fmt"
	"maps"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Scaler returns the autoscaler of a workload that is not the Collector's, or nothing: a HorizontalPodAutoscaler that has the workload as
// its target, or the object that it was created for, such as a ScaledObject of KEDA. It asks the API server, because the informer cache has
// only objects with the operator's label. So it is for a workload whose number of pods another client has set. own are the Collector's
// objects: what KEDA creates for one of them is the Collector's, too.
func (r *Reader) Scaler(
	ctx context.Context, collector client.Object, workload Reference, own map[Reference]Object,
) (scaler string, err error) {
	isOwn := func(autoscaler client.Object) bool {
		owner := metav1.GetControllerOf(autoscaler)
		isOf := func(object Object) bool { return object.UID == owner.UID }
		return owner != nil && (owner.UID == collector.GetUID() || slices.ContainsFunc(slices.Collect(maps.Values(own)), isOf))
	}
	err = Each(ctx, r.Live, &autoscalingv2.HorizontalPodAutoscalerList{}, func(item runtime.Object) error {
		found, is := item.(*autoscalingv2.HorizontalPodAutoscaler)
		if is && scaler == "" && targets(found, workload) && !isOwn(found) {
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
