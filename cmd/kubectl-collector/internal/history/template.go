package history

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/internal/postrender"
)

// Template is what tells pods of different revisions apart: the collector's image, and the hashes of the files that it starts with.
type Template struct{ Image, Config, Files, Bases string }

// TemplateOf returns the template that a pod was made from.
func TemplateOf(pod *corev1.Pod) Template {
	made := stamped(pod.Annotations)
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == "collector" {
			made.Image = pod.Spec.Containers[i].Image
		}
	}
	return made
}

func stamped(annotations map[string]string) Template {
	return Template{
		Config: annotations[postrender.ConfigHashAnnotation], Files: annotations[postrender.FilesHashAnnotation],
		Bases: annotations[postrender.BasesHashAnnotation],
	}
}

// templateIn returns the template of a workload's pods, or nothing if the object is no workload.
func templateIn(object *unstructured.Unstructured) Template {
	containers, found, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	if !found || object.GetKind() == "Job" {
		return Template{}
	}
	annotations, _, _ := unstructured.NestedStringMap(object.Object, "spec", "template", "metadata", "annotations")
	made := stamped(annotations)
	for _, container := range containers {
		if fields := asMap(container); fields["name"] == "collector" {
			made.Image, _ = fields["image"].(string)
		}
	}
	return made
}

// Made tells whether pods of a template can be those of the revision.
func (r Revision) Made(pods Template) bool { return r.template == pods && pods != Template{} }

// changesOfChart says that another version of the operator's chart made the revision.
func (r Revision) changesOfChart(before *Revision) []string {
	if cmp.Or(r.chart, before.chart) == before.chart || before.chart == "" {
		return nil
	}
	return []string{"the operator's chart: " + before.chart + " → " + r.chart}
}
