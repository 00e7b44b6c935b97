package v1alpha1

import corev1 "k8s.io/api/core/v1"

// PodSpec is what the collector's pods are: the fields of a Kubernetes pod that a fleet of collectors needs, with their
// own names and types.
type PodSpec struct {
	// Args are the collector's arguments. The default, for an OpenTelemetry Collector, is
	// --config=/etc/collector/config.yaml; a list given here replaces it.
	// +optional
	Args []string `json:"args,omitempty"`

	// Env are environment variables of the collector, such as credentials, to which the configuration refers as
	// ${env:NAME}. The operator sets TENANT_ID, TENANT_REFERENCE, TENANT_INSTANCE, CLUSTER_NAME,
	// OTEL_RESOURCE_ATTRIBUTES, K8S_NODE_NAME, K8S_POD_NAME and GOMEMLIMIT; one of those names given here replaces it.
	// +optional
	// +listType=map
	// +listMapKey=name
	Env []corev1.EnvVar `json:"env,omitempty"`

	// EnvFrom takes environment variables from whole Secrets and ConfigMaps.
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// Resources of the collector. Where they are absent, it requests 100m CPU and 128Mi of memory, with a memory limit of
	// 512Mi; given ones replace that as a whole. GOMEMLIMIT is set to 80% of the memory limit, where there is one.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// LivenessProbe replaces the default probe: the health_check extension, where the configuration enables it on an
	// address that the kubelet can reach. An empty object means no probe.
	// +optional
	LivenessProbe *corev1.Probe `json:"livenessProbe,omitempty"`

	// ReadinessProbe replaces the default probe, as livenessProbe does.
	// +optional
	ReadinessProbe *corev1.Probe `json:"readinessProbe,omitempty"`

	// StartupProbe holds the other probes back while the collector starts. There is none by default.
	// +optional
	StartupProbe *corev1.Probe `json:"startupProbe,omitempty"`

	// PodAnnotations are added to the pods.
	// +optional
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`

	// PodLabels are added to the pods. They cannot replace the operator's own; those below kube8.dev/ are left out.
	// +optional
	PodLabels map[string]string `json:"podLabels,omitempty"`

	// PodSecurityContext of the pods, merged over the default, which meets the Pod Security level "restricted".
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`

	// SecurityContext of the collector's container, merged over the default, which meets the Pod Security level
	// "restricted" and has a read-only root file system.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`

	// NodeSelector limits the pods to nodes with these labels.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations of the pods.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// Affinity of the pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// TopologySpreadConstraints of the pods, at most one for each topologyKey and whenUnsatisfiable. One without a
	// labelSelector counts the Collector's own pods.
	// +optional
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// PriorityClassName of the pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// TerminationGracePeriodSeconds is how long, in seconds, a pod may take to end. The default is Kubernetes' 30. Where
	// it is more than 5, the collector takes requests for 5 seconds more, until nobody sends it any, and has the rest to
	// flush its queues.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// ExtraVolumes are added to the pods; extraVolumeMounts mounts them. One named tmp, or a mount at /tmp, takes the
	// place of the emptyDir of 256Mi that is otherwise there. The names config and varlogpods are taken.
	// +optional
	ExtraVolumes []corev1.Volume `json:"extraVolumes,omitempty"`

	// ExtraVolumeMounts are added to the collector's container.
	// +optional
	ExtraVolumeMounts []corev1.VolumeMount `json:"extraVolumeMounts,omitempty"`

	// HostNetwork runs the pods in the node's network. The namespace must then allow the Pod Security level
	// "privileged". The default is false.
	// +optional
	HostNetwork bool `json:"hostNetwork,omitempty"`
}

// Presets are host resources that common collector set-ups need.
type Presets struct {
	// Logs mounts the node's pod logs.
	// +optional
	Logs *LogsPreset `json:"logs,omitempty"`
}

// LogsPreset mounts the node's pod logs, /var/log/pods, read-only and nothing else. The namespace must then allow the
// Pod Security level "privileged", and the log files must be readable to the collector's user.
type LogsPreset struct {
	// Enabled is false by default.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}
