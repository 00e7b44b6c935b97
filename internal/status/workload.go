package status

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// workloads make an empty object of the kind that runs a collector.
var workloads = map[v1alpha1.Mode]func() client.Object{
	v1alpha1.ModeDeployment:  func() client.Object { return &appsv1.Deployment{} },
	v1alpha1.ModeDaemonSet:   func() client.Object { return &appsv1.DaemonSet{} },
	v1alpha1.ModeStatefulSet: func() client.Object { return &appsv1.StatefulSet{} },
}

// workload is what an object that runs pods says of them.
type workload struct {
	behind                                 bool     // nobody has worked on its last change yet
	wanted, updated, available, all, ready int32    // how many pods
	rolling                                bool     // a Deployment's pods are on their way for the first time since it changed
	troubles                               []string // what a Deployment says of pods that cannot be made
}

func workloadOf(object client.Object) *workload {
	switch found := object.(type) {
	case *appsv1.Deployment:
		status := found.Status
		w := &workload{
			behind: status.ObservedGeneration < found.Generation, wanted: ptr.Deref(found.Spec.Replicas, 1),
			updated: status.UpdatedReplicas, available: status.AvailableReplicas, all: status.Replicas, ready: status.ReadyReplicas,
		}
		for _, condition := range status.Conditions {
			switch {
			case condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue:
				w.troubles = slices.Insert(w.troubles, 0, condition.Reason+": "+condition.Message)
			case condition.Type == appsv1.DeploymentProgressing && condition.Reason == "ProgressDeadlineExceeded":
				w.troubles = append(w.troubles, condition.Reason)
			case condition.Type == appsv1.DeploymentProgressing:
				w.rolling = condition.Reason == "NewReplicaSetCreated" || condition.Reason == "ReplicaSetUpdated"
			}
		}
		return w
	case *appsv1.StatefulSet:
		status, strategy := found.Status, found.Spec.UpdateStrategy
		w := &workload{
			behind: status.ObservedGeneration < found.Generation, wanted: ptr.Deref(found.Spec.Replicas, 1),
			updated: status.UpdatedReplicas, available: status.AvailableReplicas, all: status.Replicas, ready: status.ReadyReplicas,
		}
		// Pods that are to stay old until somebody deletes them or moves the partition are not waited for.
		rolling := strategy.RollingUpdate
		if strategy.Type == appsv1.OnDeleteStatefulSetStrategyType || rolling != nil && ptr.Deref(rolling.Partition, 0) > 0 {
			w.updated = w.wanted
		}
		return w
	case *appsv1.DaemonSet:
		status := found.Status
		w := &workload{
			behind: status.ObservedGeneration < found.Generation, wanted: status.DesiredNumberScheduled,
			updated: status.UpdatedNumberScheduled, available: status.NumberAvailable, all: status.CurrentNumberScheduled, ready: status.NumberReady,
		}
		if found.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
			w.updated = w.wanted
		}
		w.all = min(w.all, w.wanted) // it runs at most one pod beside a wanted one, for a moment
		return w
	}
	return nil
}

// isDone tells whether all pods are as they should be.
func (w *workload) isDone() bool {
	return w.updated >= w.wanted && w.available >= w.wanted && w.all <= w.wanted
}

// readiness says whether the pods serve. troubles are what keeps them from that.
func (w *workload) readiness(troubles []string) readiness {
	reason, message := v1alpha1.ReasonProgressing, "the workload's controller has not started the change yet"
	switch {
	case w.behind:
	case w.updated < w.wanted:
		message = fmt.Sprintf("%d/%d updated", w.updated, w.wanted)
	case w.available < w.wanted:
		message = fmt.Sprintf("%d/%d available", w.available, w.wanted)
		if !w.rolling {
			reason = v1alpha1.ReasonPodsNotReady
		}
	case w.all > w.wanted:
		message = fmt.Sprintf("%d/%d updated, %d more to end", w.updated, w.wanted, w.all-w.wanted)
	default:
		return readiness{corev1.ConditionTrue, v1alpha1.ReasonAvailable, fmt.Sprintf("%d/%d available", w.available, w.wanted)}
	}
	if len(troubles) > 0 {
		reason, message = v1alpha1.ReasonPodsNotReady, message+"; "+strings.Join(troubles, "; ")
	}
	return readiness{corev1.ConditionFalse, reason, message}
}
