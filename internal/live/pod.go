package live

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/postrender"
)

// Pod is a pod of a Collector, as the informer cache has the pod.
type Pod struct {
	Name     string
	UID      types.UID
	Since    time.Time // when it became ready, or not ready; when it was created, if the informer cache does not tell
	Ready    bool
	Broken   bool   // something keeps it from serving
	Trouble  string // what that is, in the kubelet's words
	Deleting bool
	Orphan   bool // a StatefulSet has made it, and nothing controls it
	Ended    bool // as one that the kubelet has evicted: a ReplicaSet makes another one, and leaves it there

	// DaemonSet is the UID of the DaemonSet that controls the pod, or empty.
	DaemonSet types.UID

	// Of a StatefulSet. Claims are the names of the claim templates that the pod has volumes of.
	IsOfSet bool // it has a name as a StatefulSet gives it
	Ordinal uint64
	Claims  string

	// Revision is the revision of the StatefulSet that a pod has, such as gateway-6d5f8c. Only of a pod that is not ready, the informer
	// cache tells.
	Revision string

	// Template is the stamp of the pod's template, or empty. Only with a stamp, the informer cache tells whether a container has restarted
	// or failed, which is Died.
	Template string
	Died     bool
}

// PodOf returns what is known of a pod of the Collector in its label.
func PodOf(pod *corev1.Pod) Pod {
	suffix, isNamed := strings.CutPrefix(pod.Name, pod.Labels[v1alpha1.CollectorLabel]+"-")
	ordinal, err := strconv.ParseUint(suffix, 10, 31)
	_, isOrphan := pod.Annotations[cache.OrphanAnnotation]
	return Pod{
		Name: pod.Name, UID: pod.UID, Since: readySince(pod), Ready: pod.Status.PodIP != "", Broken: pod.Status.Phase == corev1.PodFailed,
		Trouble: pod.Status.Reason, Deleting: pod.DeletionTimestamp != nil, Orphan: isOrphan,
		Ended: cache.HasEnded(pod), DaemonSet: types.UID(pod.Annotations[cache.DaemonSetAnnotation]),
		IsOfSet: isNamed && err == nil, Ordinal: ordinal, Claims: pod.Annotations[cache.ClaimsAnnotation],
		Revision: pod.Annotations[cache.RevisionAnnotation],
		Template: pod.Annotations[postrender.TemplateAnnotation], Died: deaths(pod) > 0,
	}
}

// Ref returns the reference of a pod.
func (p Pod) Ref() Reference { return NewReference(corev1.SchemeGroupVersion.WithKind("Pod"), p.Name) }

// Lacks tells whether a pod has no volume of one of some claim templates, which are given by their names.
func (p Pod) Lacks(templates string) bool {
	has := strings.Fields(p.Claims)
	return slices.ContainsFunc(strings.Fields(templates), func(name string) bool { return !slices.Contains(has, name) })
}

// Renews tells whether a pod of a StatefulSet, which is to stay, has other claims than its templates, so that only a new pod can serve. The
// controller makes no other pod for one that lacks a claim: it tries to add the volume first, and the API server refuses that
// (k8s.io/kubernetes, pkg/controller/statefulset). It leaves one that waits for a claim of a template that is gone, because their
// revisions do not differ. Where such a pod serves, it stays.
func (o *Object) Renews(pod Pod) bool {
	isOther := pod.Lacks(o.Claims) || pod.Broken && Pod{Claims: o.Claims}.Lacks(pod.Claims)
	return pod.Ordinal < uint64(max(0, o.Replicas)) && isOther
}

// OfSet returns the pods that have names as a StatefulSet gives them, by their ordinals.
func OfSet(pods []Pod) []Pod {
	ofSet := slices.DeleteFunc(slices.Clone(pods), func(pod Pod) bool { return !pod.IsOfSet })
	slices.SortFunc(ofSet, func(a, b Pod) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return ofSet
}

// Count counts some of the pods.
func Count(pods []Pod, which func(Pod) bool) (count int32) {
	for _, pod := range pods {
		if which(pod) {
			count++
		}
	}
	return count
}

// Orphans counts the pods of a StatefulSet that nothing controls, without those that are being deleted.
func Orphans(ofSet []Pod) int32 {
	return Count(ofSet, func(pod Pod) bool { return pod.Orphan && !pod.Deleting })
}
