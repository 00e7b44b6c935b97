package history

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube8/kube8-operator/internal/postrender"
)

// Template is what tells pods of different revisions apart: the collector's image, and the hashes of the files that it starts with.
type Template struct{ Image, Config, Files, Bases string }

// TemplateOf returns the template that a pod was made from.
func TemplateOf(pod *corev1.Pod) Template {
	return templateOf(pod.Annotations, pod.Spec.Containers)
}

func templateOf(annotations map[string]string, containers []corev1.Container) Template {
	made := Template{
		Config: annotations[postrender.ConfigHashAnnotation], Files: annotations[postrender.FilesHashAnnotation],
		Bases: annotations[postrender.BasesHashAnnotation],
	}
	for i := range containers {
		if containers[i].Name == "collector" {
			made.Image = containers[i].Image
		}
	}
	return made
}

// templateIn returns the template of a workload's pods, or nothing if the object is no workload.
func templateIn(object *unstructured.Unstructured) Template {
	fields, found, _ := unstructured.NestedMap(object.Object, "spec", "template")
	var pods corev1.PodTemplateSpec
	if !found || object.GetKind() == "Job" || runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &pods) != nil {
		return Template{}
	}
	return templateOf(pods.Annotations, pods.Spec.Containers)
}

// Makers returns the number of the revision that has made each of some templates, or 0 if that is not known. Both are newest first. Of
// equal templates, the older one is of an older revision. Within a second, pods are in no order.
func Makers(revisions []Revision, templates []Template) (numbers []int) {
	left := slices.Clone(revisions)
	for _, template := range templates {
		number := 0
		at := slices.IndexFunc(left, func(r Revision) bool { return r.template == template && template != Template{} })
		if at >= 0 {
			number = left[at].Number
			left = slices.Delete(left, at, at+1)
		}
		numbers = append(numbers, number)
	}
	return numbers
}

// changesOfChart says that another version of the operator's chart made the revision.
func (r Revision) changesOfChart(before *Revision) []string {
	if cmp.Or(r.chart, before.chart) == before.chart || before.chart == "" {
		return nil
	}
	return []string{"the operator's chart: " + before.chart + " → " + r.chart}
}
