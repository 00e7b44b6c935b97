package status

import "github.com/kube8/kube8-operator/api/v1alpha1"

// describeUpdate says where a change is that the operator brings. It is on its way from before it is applied until the
// Collector is ready with it. A Collector that was not ready before the change is not waited for.
func describeUpdate(before, after *v1alpha1.CollectorStatus, update *v1alpha1.Condition) {
	was, wasReady := find(before, v1alpha1.UpdatePending), find(before, "Ready")
	isOnItsWay := was != nil && was.Reason == v1alpha1.ReasonRollingOut && !isTrue(after, "Ready") &&
		(isTrue(before, "Ready") || wasReady != nil && !wasReady.LastTransitionTime.Before(&was.LastTransitionTime))
	switch {
	case update != nil && !isTrue(after, "Paused"):
		set(after, *update)
	case !isOnItsWay && !isTrue(after, "Paused"):
		unset(after, v1alpha1.UpdatePending)
	}
}
