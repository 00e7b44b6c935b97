package plan

import (
	"slices"

	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
)

// renew has a pod made anew that has not the claims of its StatefulSet, one after the other. A volume cannot be added to a pod, and the
// StatefulSet's controller makes no pod after the first one that lacks one. So their order is that of their ordinals. A pod that is not
// ready takes no data, and goes at once. A ready pod goes when all pods before it are there, and all pods serve except those that only a
// new pod can mend. A pod that is broken and has an earlier template goes before them: the controller replaces it after the pod that
// lacks a claim, which waits for it.
func (s *Situation) renew(p *Plan) {
	for what, seen := range s.View.Objects {
		if what.Kind().Kind != "StatefulSet" {
			continue
		}
		next, isFree := nextRenewed(seen.Object, s.View.Pods)
		if next == nil || seen.State == live.Deleting || s.Deletes {
			continue
		}
		isAsApplied := (seen.State == live.InOrder || seen.State == live.Contested) && !p.does(what)
		if allServe := seen.Available >= int32(len(s.View.Pods)); allServe || !isAsApplied { //nolint:gosec // no namespace has as many
			p.Sooner(live.CacheDelay) // no event tells when the informer cache shows all of it
		}
		reason := "it lacks a claim"
		if next.Lacks(seen.Claims) {
			p.Note("pod %q lacks a claim of %s; the pods that lack it are replaced one after the other", next.Name, what)
		} else {
			reason = "it waits for a claim that no template makes"
			p.Note("pod %q is replaced: it does not serve, and has a claim that %s has no template of", next.Name, what)
		}
		if broken := firstBroken(seen.Object, s.View.Pods); !isFree && broken != nil {
			next, isFree, reason = broken, true, "it does not serve, and has an earlier template"
		}
		if isFree && isAsApplied {
			p.Renews = &apply.Step{Action: apply.Delete, Ref: next.Ref(), UID: next.UID, Reason: reason}
			p.Renews.Old = &apply.Old{Ref: what, UID: seen.UID} // which makes it anew
		}
	}
}

// nextRenewed returns the first pod of a StatefulSet that only a new one can replace, or nil, and whether it can go now. pods are in their
// order.
func nextRenewed(set live.Object, pods []live.Pod) (next *live.Pod, isFree bool) {
	allServe, serve := true, int32(0)
	for i := range pods {
		pod := &pods[i]
		if next == nil && set.Renews(*pod) {
			next = pod
			allServe = allServe && uint64(i) == pod.Ordinal
		}
		if isBeyondHelp := pod.Broken && next != nil && set.Renews(*pod); isBeyondHelp { // only a new pod may serve
			continue
		}
		serve++
		allServe = allServe && pod.Ready && !pod.Deleting
	}
	if next == nil || next.Deleting || next.Orphan { // nothing controls it yet, so it is not known whether it serves
		return next, false
	}
	return next, allServe && set.Available >= serve || !next.Ready
}

// firstBroken returns the first pod of an earlier template of a StatefulSet that something keeps from serving, or nil. Below the partition,
// a new pod would have the earlier template, too.
func firstBroken(set live.Object, pods []live.Pod) *live.Pod {
	at := slices.IndexFunc(pods, func(pod live.Pod) bool {
		isOld := pod.Revision != set.Revision && pod.Ordinal >= uint64(set.Partition) //nolint:gosec // the schema refuses negative ones
		return isOld && pod.Broken && !pod.Ready && !pod.Deleting
	})
	if at < 0 {
		return nil
	}
	return &pods[at]
}
