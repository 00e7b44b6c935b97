package inventory

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/internal/cache"
)

// Pod is a pod that has a name as a StatefulSet gives it, as the informer cache has the pod.
type Pod struct {
	Name     string
	UID      types.UID
	Ordinal  uint64
	Claims   string // the names of the claim templates that it has volumes of
	Ready    bool
	Broken   bool // something keeps it from serving
	Deleting bool
	Orphan   bool // nothing controls it
}

// PodOfSet returns a pod of the StatefulSet of a name, and whether it has the name of one.
func PodOfSet(pod *corev1.Pod, set string) (found Pod, is bool) {
	suffix, isNamed := strings.CutPrefix(pod.Name, set+"-")
	ordinal, err := strconv.ParseUint(suffix, 10, 31)
	_, isOrphan := pod.Annotations[cache.OrphanAnnotation]
	return Pod{
		Name: pod.Name, UID: pod.UID, Ordinal: ordinal, Claims: pod.Annotations[cache.ClaimsAnnotation],
		Ready: pod.Status.PodIP != "", Broken: pod.Status.Phase == corev1.PodFailed, Deleting: pod.DeletionTimestamp != nil, Orphan: isOrphan,
	}, isNamed && err == nil
}

// Ref returns the reference of a pod.
func (p Pod) Ref() Reference { return NewReference(corev1.SchemeGroupVersion.WithKind("Pod"), p.Name) }

// Lacks tells whether a pod has no volume of one of some claim templates, which are given by their names.
func (p Pod) Lacks(templates string) bool {
	has := strings.Fields(p.Claims)
	return slices.ContainsFunc(strings.Fields(templates), func(name string) bool { return !slices.Contains(has, name) })
}

// LackedBy tells whether a pod of a StatefulSet lacks one of its claims, and is to stay. The controller can make no other pod then: it
// tries to add the volume first, and the API server refuses that (k8s.io/kubernetes, pkg/controller/statefulset).
func (o *Object) LackedBy(pod Pod) bool {
	return pod.Ordinal < uint64(max(0, o.Replicas)) && pod.Lacks(o.Claims)
}

// Orphans counts the pods that nothing controls, without those that are being deleted.
func Orphans(pods []Pod) (count int32) {
	for _, pod := range pods {
		if pod.Orphan && !pod.Deleting {
			count++
		}
	}
	return count
}
