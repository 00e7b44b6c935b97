package flow

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/postrender"
)

// Comparison is how data flows through some pods, beside others.
type Comparison struct {
	// IsKnown tells whether one of the pods has a verdict, and, if that is bad, whether the others have one of the same time.
	IsKnown bool

	// Worse says what happens to data in one of the pods, and in none of the others, or is empty.
	Worse string

	// Doubt is as Worse, as long as no other pod has a verdict of the same time.
	Doubt string

	// IsSilent tells that nothing flows through the pods that have verdicts, and that something does through others. Pods that are idle
	// are not silent where half of the others are idle, too: they are standbys of a leader, or on nodes without clients.
	IsSilent bool

	// Began is when the operator began to watch pods: what has happened before is not known.
	Began time.Time
}

// Verdict is what the windows of a pod say.
type Verdict struct {
	is       code
	of       run
	lost     float32
	latest   time.Duration
	isWaning bool // the last window said that it is no longer so, or not so much
}

// Compare compares the verdicts of some pods with those of others. A bad verdict is compared with those of windows that began no earlier:
// all pods are as bad while the backend is down, and it takes longer until the others have been asked. isAlone tells that there are no
// others.
func Compare(pods, others []Verdict, isAlone bool) Comparison {
	worst, since := code(0), time.Duration(0)
	beside, flows := withData(others)
	isUsual := withoutTraffic(pods) == len(pods) && 2*withoutTraffic(others) >= len(others)
	c := Comparison{IsKnown: len(pods) > 0, IsSilent: len(pods) > 0 && flows && !isUsual}
	for _, v := range pods {
		since, c.IsSilent = max(since, v.of.since), c.IsSilent && v.is.status() == corev1.ConditionUnknown
		fresh := beside.since(v.of.since)
		switch worse := v.worseThan(fresh); {
		case worse == "":
		case !isAlone && (v.isWaning || len(fresh) == 0):
			if c.IsKnown = false; !v.isWaning {
				c.Doubt = worse
			}
		case worst == 0 || v.is < worst:
			worst, c.Worse = v.is, worse
		}
	}
	isSteady := func(v Verdict) bool { return !v.isWaning }
	if isShown := len(beside.since(since)) > 0 && slices.ContainsFunc(pods, isSteady); c.IsSilent && !isShown {
		c.IsKnown, c.IsSilent = false, false
	}
	c.IsKnown = c.IsKnown || c.Worse != ""
	return c
}

// withoutTraffic returns how many pods answer and have no data.
func withoutTraffic(all []Verdict) (count int) {
	for _, v := range all {
		if v.is.isIdle() {
			count++
		}
	}
	return count
}

// verdicts are those of some pods.
type verdicts []Verdict

// withData returns the verdicts that say that there is data, and whether there are any. If there are none, it returns all.
func withData(all verdicts) (some verdicts, areAny bool) {
	isSilent := func(v Verdict) bool { return v.is.status() == corev1.ConditionUnknown }
	if some = slices.DeleteFunc(slices.Clone(all), isSilent); len(some) == 0 {
		return all, false
	}
	return some, true
}

// since returns the verdicts whose last window began at a time, or later.
func (all verdicts) since(at time.Duration) verdicts {
	return slices.DeleteFunc(slices.Clone(all), func(v Verdict) bool { return v.latest < at })
}

// worseThan says how a pod does worse than some others, or nothing.
func (v Verdict) worseThan(others verdicts) string {
	worst, lost := code(0), float32(0) // of the others, those that say that data does not flow as it should
	for _, other := range others {
		if isWorse := worst == 0 || other.is < worst; isWorse && other.is.status() == corev1.ConditionFalse {
			worst = other.is
		}
		lost = max(lost, other.lost)
	}
	switch {
	case v.is.status() != corev1.ConditionFalse:
		return ""
	case worst == 0 || v.is < worst:
		return states[v.is].message
	case v.of.least > lost+moreLost:
		return fmt.Sprintf("%s (%.0f%% here, %.0f%% in the others)", states[v.is].message, 100*v.of.least, 100*lost)
	}
	return ""
}

// Verdicts returns the verdicts of a Collector's pods, and since when pods are watched. A pod without a verdict is left out.
func (w *Watcher) Verdicts(collector client.Object) (map[types.UID]Verdict, time.Time) {
	found, began := map[types.UID]Verdict{}, time.Now()
	for _, p := range w.entryOf(collector).pods {
		if p.verdict > 0 && p.absent == 0 {
			found[p.uid] = p.judged()
		}
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.known != nil { // or else it begins at any moment: a reconcile can be earlier
		began = w.began.Add(w.Period)
	}
	return found, began
}

// judged returns the verdict.
func (p pod) judged() Verdict {
	isLess := p.says == p.verdict && p.saying.least < p.of.least
	isWaning := p.times > 0 && (isLess || p.says.status() != p.verdict.status())
	return Verdict{is: p.verdict, of: p.of, lost: p.lost, latest: p.latest, isWaning: isWaning}
}

// isOfCanary tells whether a pod has a change that proves itself.
func isOfCanary(collector *unstructured.Unstructured, pod *corev1.Pod) bool {
	_, isProving, _ := unstructured.NestedMap(collector.Object, "status", "canary")
	return isProving && !isOfDeployed(collector, pod)
}

// isOfDeployed tells whether a pod has the template of the deployed revision.
func isOfDeployed(collector *unstructured.Unstructured, pod *corev1.Pod) bool {
	deployed, _, _ := unstructured.NestedString(collector.Object, "status", "deployedRelease", "template")
	return pod.Annotations[postrender.TemplateAnnotation] == deployed
}
