package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/internal/claims"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

// hasCanary tells whether the wanted change has to prove itself, if it can.
func (s *Situation) hasCanary() bool {
	return s.Canary != nil && (!s.Canary.OfOperator || s.ByOperator)
}

// mustProve tells whether a changed workload has to prove itself: it has pods of another template, and was not proven before.
func (s *Situation) mustProve(workload *render.Object) bool {
	if !s.hasCanary() || s.Deployed == "" || workload == nil {
		return false
	}
	seen := s.View.Objects[workload.Ref]
	switch {
	case TemplateOf(workload) == s.Canary.Template:
		return false
	case s.running(workload.Ref) == 0: // no accepted pods are there, if that is known
		return s.isUncounted(workload.Ref)
	case seen.Hash == workload.Hash && seen.IsThere(): // it got its own form because it was proven
		return false
	case seen.Pending: // it has no accepted pods either, unless it has taken them back with the canary
		return s.Canary.Last.Hash == s.shortHash()
	case workload.Ref.Kind().Kind == "DaemonSet": // without stamps, it is unknown since when its pods are ready
		return s.Canary.Template != ""
	}
	return true
}

// wasProven tells whether the wanted change was proven before the API server refused it. Its next attempt begins with what was refused, and
// needs no canary pods again. Where a user approves changes, that word counts instead.
func (s *Situation) wasProven() bool { return s.Canary.Proven == s.Want.Hash && !s.Canary.IsManual }

// changesMode tells whether the deployed revision has a workload of another kind. If both are there, only its record tells.
func (s *Situation) changesMode(wanted live.Reference) (is, isKnown bool) {
	hasAnother := false
	for what, seen := range s.View.Objects {
		stays := seen.IsThere() && seen.State != live.Deleting && !seen.Pending
		hasAnother = hasAnother || stays && live.IsWorkload(what.Kind().Kind) && what != wanted
	}
	if !hasAnother || s.Accepted == nil {
		return false, !hasAnother
	}
	deployed := s.Accepted.Recorded.First(render.Workloads)
	return deployed != nil && deployed.Ref != wanted, true
}

// hasNoPods tells whether it is known that a workload has no pods.
func (s *Situation) hasNoPods(workload *render.Object) bool {
	return workload != nil && s.running(workload.Ref) == 0 && !s.isUncounted(workload.Ref)
}

// isUncounted tells whether it is not known how many pods a DaemonSet has: it is new, or the informer cache does not show it yet.
func (s *Situation) isUncounted(workload live.Reference) bool {
	seen := s.View.Objects[workload]
	isHidden := seen.State == live.Stale && workload.Kind().Kind == "DaemonSet"
	return seen.Replicas == 0 && (seen.Uncounted || isHidden)
}

// hidesPods tells whether the informer cache shows fewer pods of a DaemonSet, or fewer that are ready, than that has, or does not show how
// many it has. It can still show pods of a workload that has gone.
func (s *Situation) hidesPods(daemonSet live.Reference) bool {
	seen := s.View.Objects[daemonSet]
	return seen.State == live.Stale || s.Canary.Shown[seen.UID] < seen.All || s.Canary.Ready[seen.UID] < seen.Available
}

// running returns how many pods a workload has. A StatefulSet that is not there also has those that it takes back when it is created, and
// the informer cache may not show yet that nothing controls them.
func (s *Situation) running(workload live.Reference) int32 {
	seen := s.View.Objects[workload]
	if workload.Kind().Kind != "StatefulSet" {
		return seen.Replicas
	}
	running := max(seen.Replicas, s.View.Orphans)
	if !seen.IsThere() {
		running = max(running, live.Count(s.View.Pods, func(pod live.Pod) bool { return !pod.Deleting }))
	}
	return running
}

// unprovable says why no canary can prove a changed workload, or nothing.
func (s *Situation) unprovable(workload *render.Object) string {
	strategy, _, _ := unstructured.NestedString(workload.Content.Object, "spec", "strategy", "type")
	update, _, _ := unstructured.NestedString(workload.Content.Object, "spec", "updateStrategy", "type")
	partition, _, _ := unstructured.NestedInt64(workload.Content.Object, "spec", "updateStrategy", "rollingUpdate", "partition")
	templates := claims.TemplatesOf(workload)
	switch {
	case update == "OnDelete", partition > 0: // which spec.canary excludes
		return "a user decides when pods of " + workload.Ref.String() + " are replaced"
	case strategy == "Recreate":
		return "pods of " + workload.Ref.String() + " cannot run beside each other"
	case slices.ContainsFunc(s.View.Pods, func(pod live.Pod) bool { return pod.Lacks(templates) }):
		return "pods of " + workload.Ref.String() + " lack a claim, and are replaced one after the other"
	}
	return ""
}
