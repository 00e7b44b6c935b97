package kubectl

import (
	"cmp"
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// imageOf returns the image that a Collector's workload runs, or "".
func (s *session) imageOf(ctx context.Context, collector *unstructured.Unstructured) string {
	mode, _ := at(collector.Object, "spec", "mode").(string)
	kind := map[string]string{"daemonset": "DaemonSet", "statefulset": "StatefulSet"}[mode]
	workload := &unstructured.Unstructured{}
	workload.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(cmp.Or(kind, "Deployment")))
	if s.client.Get(ctx, client.ObjectKeyFromObject(collector), workload) != nil {
		return "" // nothing is deployed, or the account may not know: then there is no mirror to be known of
	}
	containers, _, _ := unstructured.NestedSlice(workload.Object, "spec", "template", "spec", "containers")
	for _, container := range containers {
		if at(container, "name") == "collector" {
			image, _ := at(container, "image").(string)
			return image
		}
	}
	return ""
}

// mirrored returns an image from where the one that runs is from: the operator can have another registry than the chart's default.
func mirrored(image, running string) string {
	split := func(image string) (registry, name, version string) {
		image, digest, _ := strings.Cut(image, "@")
		slash := strings.LastIndex(image, "/") + 1
		name, version, _ = strings.Cut(image[slash:], ":")
		return image[:slash], name, version + digest
	}
	registry, name, _ := split(running)
	own, same, version := split(image)
	if name != same || registry == own || version == "" || strings.Contains(image, "@") {
		return image
	}
	return registry + name + ":" + version
}
