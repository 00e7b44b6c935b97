package postrender

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// finish has mount finish node's pod template, and writes what users gave in the form in which the API server stores it. It
// tells whether node has such parts.
//
// Users may write 1024Mi, 0.5 or "readOnly: false"; the API server stores 1Gi, 500m and nothing. The stock reconciler
// compares what is rendered with what is stored, and would patch such an object on every pass.
func finish(node *yaml.RNode, mount func(*corev1.PodTemplateSpec)) (bool, error) {
	switch node.GetKind() {
	case "HorizontalPodAutoscaler":
		return rewrite(node, asItIs[autoscalingv2.HorizontalPodAutoscalerSpec], "spec")
	case "NetworkPolicy":
		return rewrite(node, asItIs[networkingv1.NetworkPolicySpec], "spec")
	case "StatefulSet":
		if _, err := rewrite(node, asItIs[[]corev1.PersistentVolumeClaim], "spec", "volumeClaimTemplates"); err != nil {
			return false, err
		}
	}
	return rewrite(node, func(template *corev1.PodTemplateSpec) {
		for i := range template.Spec.Volumes {
			setDefaults(&template.Spec.Volumes[i])
		}
		mount(template)
	}, "spec", "template")
}

func asItIs[T any](*T) {}

// setDefaults sets what the API server sets inside lists that are compared as a whole.
func setDefaults(volume *corev1.Volume) {
	var files []corev1.DownwardAPIVolumeFile
	if volume.DownwardAPI != nil {
		files = volume.DownwardAPI.Items
	}
	if volume.Projected != nil {
		for _, source := range volume.Projected.Sources {
			if token := source.ServiceAccountToken; token != nil && token.ExpirationSeconds == nil {
				token.ExpirationSeconds = ptr.To[int64](60 * 60)
			}
			if source.DownwardAPI != nil {
				files = append(files, source.DownwardAPI.Items...)
			}
		}
	}
	for _, file := range files {
		if file.FieldRef != nil && file.FieldRef.APIVersion == "" {
			file.FieldRef.APIVersion = "v1"
		}
	}
}

// rewrite takes a field of node through its Kubernetes type, which is what brings it into the stored form, and lets
// change have it on the way. It tells whether the field is there.
func rewrite[T any](node *yaml.RNode, change func(*T), path ...string) (bool, error) {
	rendered, err := node.Pipe(yaml.Lookup(path...))
	if err != nil || rendered == nil {
		return false, err
	}
	text, err := rendered.String()
	if err != nil {
		return false, fmt.Errorf("read %v: %w", path, err)
	}
	var value T
	if err := sigsyaml.Unmarshal([]byte(text), &value); err != nil {
		return false, fmt.Errorf("read %v: %w", path, err)
	}
	change(&value)
	stored, err := sigsyaml.Marshal(value)
	if err != nil {
		return false, fmt.Errorf("write %v: %w", path, err)
	}
	parsed, err := yaml.Parse(string(stored))
	if err != nil {
		return false, fmt.Errorf("write %v: %w", path, err)
	}
	rendered.SetYNode(parsed.YNode())
	return true, nil
}
