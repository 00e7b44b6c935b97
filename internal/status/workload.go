package status

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/live"
)

// workloads make an empty object of the kind that runs a collector.
var workloads = map[v1alpha1.Mode]func() client.Object{
	v1alpha1.ModeDeployment:  func() client.Object { return &appsv1.Deployment{} },
	v1alpha1.ModeDaemonSet:   func() client.Object { return &appsv1.DaemonSet{} },
	v1alpha1.ModeStatefulSet: func() client.Object { return &appsv1.StatefulSet{} },
}

// stops are reasons of a Deployment that makes no progress: nothing happens in time, or a user has run `kubectl rollout pause`.
var stops = []string{"ProgressDeadlineExceeded", "DeploymentPaused"}

// Workload is what an object that runs pods says of them.
type Workload struct {
	live.Pods
	rolling  bool      // a Deployment's pods are on their way for the first time since it changed
	troubles []string  // what a Deployment says of pods that cannot be made
	refused  bool      // a Deployment's ReplicaSet cannot be made
	teller   types.UID // what has events that say it, because its own status does not
	lacks    bool      // of that, pods may be refused
	noNode   bool      // a DaemonSet runs nowhere
}

func workloadOf(object client.Object) *Workload {
	w := &Workload{Pods: live.PodsOf(object)}
	switch found := object.(type) {
	case *appsv1.Deployment:
		if refusal := live.RefusalOf(found); refusal != "" {
			w.troubles = append(w.troubles, refusal)
		}
		for _, condition := range found.Status.Conditions {
			switch {
			case condition.Reason == cache.NoReplicaSet && w.Behind: // it stays for a while when the ReplicaSet is there
				w.refused, w.troubles = true, append(w.troubles, condition.Reason+": "+condition.Message)
			case condition.Type == appsv1.DeploymentProgressing && slices.Contains(stops, condition.Reason):
				w.troubles = append(w.troubles, condition.Reason)
			case condition.Type == appsv1.DeploymentProgressing:
				w.rolling = condition.Reason == "NewReplicaSetCreated" || condition.Reason == "ReplicaSetUpdated"
			}
		}
	case *appsv1.DaemonSet:
		w.All = min(w.All, w.Wanted) // it runs at most one pod beside a wanted one, for a moment
		w.teller, w.noNode = found.UID, w.Wanted == 0
		w.lacks = w.All < w.Wanted || w.Updated < w.Wanted // where it surges, an old pod stays until the new one is there
	case *appsv1.StatefulSet:
		w.teller, w.lacks = found.UID, w.All < w.Wanted
	}
	return w
}

// isDone tells whether all pods are as they should be.
func (w *Workload) isDone() bool {
	return !w.refused && w.Updated >= w.Wanted && w.Available >= w.Wanted && w.All <= w.Wanted
}

// readiness says whether the pods serve. troubles are what keeps them from that.
func (w *Workload) readiness(troubles []string) readiness {
	reason, message := v1alpha1.ReasonProgressing, "the workload's controller has not started the change yet"
	switch {
	case w.refused:
		message = "the workload's controller cannot start the change"
	case w.Behind:
	case w.Updated < w.Wanted:
		message = fmt.Sprintf("%d/%d updated", w.Updated, w.Wanted)
	case w.Available < w.Wanted:
		message = fmt.Sprintf("%d/%d available", w.Available, w.Wanted)
		if !w.rolling {
			reason = v1alpha1.ReasonPodsNotReady
		}
	case w.All > w.Wanted:
		message = fmt.Sprintf("%d/%d updated, %d more to end", w.Updated, w.Wanted, w.All-w.Wanted)
	default:
		message = fmt.Sprintf("%d/%d available", w.Available, w.Wanted)
		switch {
		case w.noNode:
			message += "; no node takes its pods"
		case w.Wanted == 0:
			message += "; no pods are asked for"
		}
		return readiness{corev1.ConditionTrue, v1alpha1.ReasonAvailable, message}
	}
	if len(troubles) > 0 {
		reason, message = v1alpha1.ReasonPodsNotReady, message+"; "+strings.Join(troubles, "; ")
	}
	return readiness{corev1.ConditionFalse, reason, message}
}
