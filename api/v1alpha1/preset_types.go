package v1alpha1

// Presets give the pods what common receivers and processors need of the node
// and of the Kubernetes API. A preset never changes the configuration, which
// has to name the receiver or processor.
type Presets struct {
	// Logs mounts the node's pod logs, /var/log/pods, read-only. The namespace
	// must then allow the Pod Security level "privileged", and the collector's
	// user must be allowed to read the files.
	// +optional
	Logs *LogsPreset `json:"logs,omitempty"`

	// HostMetrics mounts the node's whole file system at /hostfs, read-only, and
	// sets HOST_PROC, HOST_SYS, HOST_ETC, HOST_VAR, HOST_RUN, HOST_DEV and
	// HOST_MOUNT_PREFIX. The receiver hostmetrics needs root_path: /hostfs too.
	// The namespace must allow the Pod Security level "privileged".
	// +optional
	HostMetrics *HostMetricsPreset `json:"hostMetrics,omitempty"`

	// KubeletMetrics gives the pods a token for the kubelet, and the node's
	// address as K8S_NODE_IP. The receiver kubeletstats needs auth_type:
	// serviceAccount and endpoint: ${env:K8S_NODE_IP}:10250, which is
	// "[${env:K8S_NODE_IP}]:10250" on nodes with IPv6 alone. An administrator
	// binds the ClusterRole kube8-collector-kubelet-metrics.
	// +optional
	KubeletMetrics *KubeletMetricsPreset `json:"kubeletMetrics,omitempty"`

	// KubernetesAttributes gives the pods a token for the Kubernetes API. The
	// processor k8s_attributes uses it to find the pod, workload and node that
	// telemetry comes from. An administrator binds the ClusterRole
	// kube8-collector-kubernetes-attributes.
	// +optional
	KubernetesAttributes *KubernetesPreset `json:"kubernetesAttributes,omitempty"`

	// ClusterMetrics gives the pods a token for the Kubernetes API. The receiver
	// k8s_cluster uses it to count the cluster's objects and to read their states.
	// An administrator binds the ClusterRole kube8-collector-cluster-metrics.
	// +optional
	ClusterMetrics *KubernetesPreset `json:"clusterMetrics,omitempty"`
}

// LogsPreset mounts the node's pod logs.
type LogsPreset struct {
	// Enabled is false by default.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}

// HostMetricsPreset mounts the node's file system.
type HostMetricsPreset struct {
	// Enabled is false by default.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}

// KubeletMetricsPreset lets the pods ask the node's kubelet.
type KubeletMetricsPreset struct {
	// Enabled is false by default.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}

// KubernetesPreset gives the pods a token for the Kubernetes API. The
// condition PresetsReady says which ClusterRole their ServiceAccount lacks,
// until it is bound.
type KubernetesPreset struct {
	// Enabled is false by default.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// Namespaces that the configuration limits the receiver or processor to. A
	// RoleBinding in each of them is then enough. Without any, the role needs a
	// ClusterRoleBinding.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="a namespace has lower-case letters, digits and '-', and starts and ends with a letter or digit"
	Namespaces []string `json:"namespaces,omitempty"`
}
