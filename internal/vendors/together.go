package vendors

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/internal/render"
)

// together warns of a Deployment whose owner has old and new pods run at once, though both write to one folder of a node
// (VictoriaMetrics/VictoriaMetrics#1146). By default, such a Deployment replaces its pods one after the other.
func together(object *unstructured.Unstructured, pod *corev1.PodSpec) []string {
	if !render.Surges(object, "strategy") {
		return nil
	}
	for _, volume := range pod.Volumes {
		if volume.HostPath != nil && isWritten(pod, volume.Name) {
			return []string{fmt.Sprintf("updateStrategy: old and new pods run at once, and can write to %s of one node at the same time; "+
				"leave out updateStrategy, or set its type to Recreate", volume.HostPath.Path)}
		}
	}
	return nil
}

// isWritten tells whether a container can write to a volume.
func isWritten(pod *corev1.PodSpec, volume string) bool {
	return slices.ContainsFunc(slices.Concat(pod.InitContainers, pod.Containers), func(container corev1.Container) bool {
		return slices.ContainsFunc(container.VolumeMounts, func(mount corev1.VolumeMount) bool {
			return mount.Name == volume && !mount.ReadOnly
		})
	})
}
