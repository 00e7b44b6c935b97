package history

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/postrender"
)

// mounted returns what the recorded manifest says of the configuration: its hash, and the Secret that has it.
func mounted(manifest string) (hash, secret string) {
	for document := range strings.SplitSeq("\n"+manifest, "\n---\n") {
		var object struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Name        string            `json:"name"`
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
			Spec struct {
				Template corev1.PodTemplateSpec `json:"template"`
			} `json:"spec"`
		}
		if yaml.Unmarshal([]byte(document), &object) != nil {
			continue
		}
		switch _, files := object.Metadata.Annotations[postrender.ConfigurationAnnotation]; {
		case object.Kind == "Secret" && files:
			secret = object.Metadata.Name
		case object.Kind == "Deployment" || object.Kind == "StatefulSet" || object.Kind == "DaemonSet":
			hash = object.Spec.Template.Annotations[postrender.ConfigHashAnnotation]
		}
	}
	return hash, secret
}
