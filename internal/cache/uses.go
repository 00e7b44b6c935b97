package cache

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// UsesAnnotation is where the informer cache keeps what a workload's pods use. The API server does not have it.
	UsesAnnotation = "uses"

	// OrphanAnnotation is where the informer cache keeps that nothing controls a pod that a StatefulSet has made. The API server does not
	// have it.
	OrphanAnnotation = "orphan"

	// ClaimsAnnotation is where the informer cache keeps the names of the claim templates of a StatefulSet, and of those that a pod has a
	// volume of. The API server does not have it.
	ClaimsAnnotation = "claims"

	// RevisionAnnotation is where the informer cache keeps which revision of its StatefulSet a pod has that is not ready. The API server does
	// not have it.
	RevisionAnnotation = "revision"

	// DaemonSetAnnotation is where the informer cache keeps the UID of the DaemonSet that controls a pod. The API server does not have it.
	DaemonSetAnnotation = "daemonset"

	// EndedAnnotation is where the informer cache keeps that a pod has ended, so that it is never ready again. The API server does not have
	// it.
	EndedAnnotation = "ended"

	// Everything stands for more uses than are kept.
	Everything = "*"
)

// keepUses keeps what pods of a specification cannot start without and a Collector can have, in metadata for the informer cache. Its
// Secrets and claims begin with its name.
func keepUses(kept *metav1.ObjectMeta, collector string, pod *corev1.PodSpec) {
	uses := map[string]bool{}
	use := func(kind, name string) {
		if len(uses) <= mostUses && (kind == "ServiceAccount" || strings.HasPrefix(name, collector)) {
			uses[kind+"/"+name] = true
		}
	}
	if pod.ServiceAccountName != "" {
		use("ServiceAccount", pod.ServiceAccountName)
	}
	for _, volume := range pod.Volumes {
		switch {
		case volume.Secret != nil:
			use("Secret", volume.Secret.SecretName)
		case volume.PersistentVolumeClaim != nil:
			use("PersistentVolumeClaim", volume.PersistentVolumeClaim.ClaimName)
		case volume.Projected != nil:
			for _, source := range volume.Projected.Sources {
				if source.Secret != nil {
					use("Secret", source.Secret.Name)
				}
			}
		}
	}
	all := UsesOf(slices.Collect(maps.Keys(uses)))
	if len(uses) > mostUses {
		all = Everything
	}
	metav1.SetMetaDataAnnotation(kept, UsesAnnotation, all)
}

// keepClaims keeps the names of claim templates, if there are any. No Collector has more than the API server takes of them.
func keepClaims(kept *metav1.ObjectMeta, names []string) {
	if len(names) > 0 {
		slices.Sort(names)
		metav1.SetMetaDataAnnotation(kept, ClaimsAnnotation, bounded(strings.Join(names, " "), mostUses*longestName))
	}
}

// claimsOf returns the claim templates that a pod of a StatefulSet has volumes of: their claims are named after the volume and the pod.
func claimsOf(pod *corev1.Pod) (names []string) {
	for _, volume := range pod.Spec.Volumes {
		if claim := volume.PersistentVolumeClaim; claim != nil && claim.ClaimName == volume.Name+"-"+pod.Name {
			names = append(names, volume.Name)
		}
	}
	return names
}

// UsesOf returns how the informer cache says that objects are used. Each is given by kind and name.
func UsesOf(used []string) string {
	all := make([]string, 0, len(used))
	for _, kindAndName := range used {
		all = append(all, UseOf(kindAndName))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// UseOf returns a hash of kind and name. Another object that has the same one counts as used, too.
func UseOf(kindAndName string) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(kindAndName))
	return fmt.Sprintf("%08x", sum.Sum32())
}
