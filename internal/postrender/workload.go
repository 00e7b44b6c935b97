package postrender

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// finishWorkload stamps the hash of the configuration that node's pod template mounts onto the template, and writes
// the template, and a StatefulSet's claims, in the form in which the API server stores them. It tells whether node has
// a pod template.
//
// Users may write 1024Mi, 0.5 or "readOnly: false"; the API server stores 1Gi, 500m and nothing. The stock reconciler
// compares what is rendered with what is stored, and would patch such a workload on every pass.
func finishWorkload(node *yaml.RNode, hashes map[string]string) (bool, error) {
	isWorkload, err := rewrite(node, "template", func(template *corev1.PodTemplateSpec) {
		for _, volume := range template.Spec.Volumes {
			if volume.Secret == nil {
				continue
			}
			if hash, mounted := hashes[volume.Secret.SecretName]; mounted {
				metav1.SetMetaDataAnnotation(&template.ObjectMeta, ConfigHashAnnotation, hash)
			}
		}
	})
	if err != nil || !isWorkload {
		return false, err
	}
	_, err = rewrite(node, "volumeClaimTemplates", func(*[]corev1.PersistentVolumeClaim) {})
	return true, err
}

// rewrite takes a field of node's spec through its Kubernetes type, which is what brings it into the stored form, and
// lets change have it on the way. It tells whether the field is there.
func rewrite[T any](node *yaml.RNode, field string, change func(*T)) (bool, error) {
	rendered, err := node.Pipe(yaml.Lookup("spec", field))
	if err != nil || rendered == nil {
		return false, err
	}
	text, err := rendered.String()
	if err != nil {
		return false, fmt.Errorf("read spec.%s: %w", field, err)
	}
	var value T
	if err := sigsyaml.Unmarshal([]byte(text), &value); err != nil {
		return false, fmt.Errorf("read spec.%s: %w", field, err)
	}
	change(&value)
	stored, err := sigsyaml.Marshal(value)
	if err != nil {
		return false, fmt.Errorf("write spec.%s: %w", field, err)
	}
	parsed, err := yaml.Parse(string(stored))
	if err != nil {
		return false, fmt.Errorf("write spec.%s: %w", field, err)
	}
	return true, node.PipeE(yaml.Lookup("spec"), yaml.SetField(field, parsed))
}
