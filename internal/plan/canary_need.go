package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/internal/claims"
	"github.com/kube8/kube8-operator/internal/drift"
	"github.com/kube8/kube8-operator/internal/inventory"
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
	_, isReplaced := s.Immutable[workload.Ref]
	kind := workload.Ref.Kind().Kind
	switch {
	case TemplateOf(workload) == s.Canary.Template:
		return false
	case s.running(workload.Ref) == 0: // no accepted pods are there, if that is known
		return s.isUncounted(workload.Ref)
	case seen.Hash == workload.Hash && seen.IsThere(): // it got its own form because it was proven
		return false
	case seen.Pending: // it has no accepted pods either, unless it has taken them back with the canary
		return s.Canary.Last.Hash == s.shortHash()
	case isReplaced: // the Deployment or DaemonSet goes with its pods
		return kind == "StatefulSet"
	case kind == "DaemonSet": // without stamps, it is unknown since when its pods are ready
		return s.Canary.Template != ""
	}
	return true
}

// changesMode tells whether the deployed revision has a workload of another kind. If both are there, only its record tells.
func (s *Situation) changesMode(wanted inventory.Reference) (is, isKnown bool) {
	hasAnother := false
	for what, seen := range s.View.Objects {
		stays := seen.IsThere() && seen.State != drift.Deleting && !seen.Pending
		hasAnother = hasAnother || stays && inventory.IsWorkload(what.Kind().Kind) && what != wanted
	}
	if !hasAnother || s.Accepted == nil {
		return false, !hasAnother
	}
	deployed := s.Accepted.Recorded.First(render.Workloads)
	return deployed != nil && deployed.Ref != wanted, true
}

// isUncounted tells whether it is not known how many pods a DaemonSet has: it is new, or the informer cache does not show it yet.
func (s *Situation) isUncounted(workload inventory.Reference) bool {
	seen := s.View.Objects[workload]
	isHidden := seen.State == drift.Behind && workload.Kind().Kind == "DaemonSet"
	return seen.Replicas == 0 && (seen.Uncounted || isHidden)
}

// running returns how many pods a workload has. A StatefulSet that is not there also has those that it takes back when it is created.
func (s *Situation) running(workload inventory.Reference) int32 {
	live := s.View.Objects[workload].Replicas
	if workload.Kind().Kind == "StatefulSet" {
		return max(live, s.View.Orphans)
	}
	return live
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
	case slices.ContainsFunc(s.View.Pods, func(pod inventory.Pod) bool { return pod.Lacks(templates) }):
		return "pods of " + workload.Ref.String() + " lack a claim, and are replaced one after the other"
	}
	return ""
}
