package flow

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/postrender"
)

// Comparison is how data flows through some pods, beside others in the same windows.
type Comparison struct {
	// IsKnown tells whether one of the pods has a verdict.
	IsKnown bool

	// Worse says what happens to data in one of the pods, and in none of the others, or is empty.
	Worse string

	// IsSilent tells that nothing flows through the pods that have verdicts, and that something does through one of the others.
	IsSilent bool
}

// Compare compares the verdicts of some pods with those of others. A verdict is a reason of the condition DataFlowing.
func Compare(pods, others []string) Comparison {
	found, beside := summaryOf(pods), summaryOf(others)
	c := Comparison{IsKnown: len(pods) > 0, IsSilent: len(pods) > 0 && !found.flows && beside.flows}
	if found.worst > 0 && (beside.worst == 0 || found.worst < beside.worst) {
		c.Worse = states[found.worst].message
	}
	return c
}

// summary is what verdicts say together.
type summary struct {
	worst code // of those that say that data does not flow as it should, or 0
	flows bool // one says that there is data
}

func summaryOf(verdicts []string) (s summary) {
	for _, verdict := range verdicts {
		is := codeOf(verdict)
		s.flows = s.flows || is.status() != corev1.ConditionUnknown
		if isWorse := s.worst == 0 || is < s.worst; isWorse && is.status() == corev1.ConditionFalse {
			s.worst = is
		}
	}
	return s
}

// Verdicts returns the verdicts of a Collector's pods. A pod without one is left out.
func (w *Watcher) Verdicts(collector client.Object) map[types.UID]string {
	found := map[types.UID]string{}
	for _, pod := range w.entryOf(collector).pods {
		if pod.verdict > 0 && pod.absent == 0 {
			found[pod.uid] = states[pod.verdict].reason
		}
	}
	return found
}

// isOfCanary tells whether a pod has a change that proves itself: another template than the deployed revision.
func isOfCanary(collector *unstructured.Unstructured, pod *corev1.Pod) bool {
	_, isProving, _ := unstructured.NestedMap(collector.Object, "status", "canary")
	deployed, _, _ := unstructured.NestedString(collector.Object, "status", "deployedRelease", "template")
	return isProving && pod.Annotations[postrender.TemplateAnnotation] != deployed
}
