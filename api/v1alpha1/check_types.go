package v1alpha1

import corev1 "k8s.io/api/core/v1"

// Check runs the collector once, in a Job with the image, environment, files,
// volumes, security context, node selection and ServiceAccount of the pods.
// Pods get a change once it has exited with 0. Until then, pods of the last
// revision serve.
type Check struct {
	// Args make the collector check its configuration and exit. The default is
	// that of the OpenTelemetry Collector: validate, and the arguments of the
	// pods.
	// +optional
	// +listType=atomic
	Args []string `json:"args,omitempty"`

	// TimeoutSeconds is how many seconds the check may take, 120 by default. The
	// time to schedule its pod and to pull the image counts too.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// Resources of the check's container. The default is those of the pods.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}
