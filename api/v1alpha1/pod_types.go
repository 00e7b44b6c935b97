package v1alpha1

import corev1 "k8s.io/api/core/v1"

// PodSpec is what the collector's pods are: the fields of a Kubernetes pod
// that a fleet of collectors needs, with their own names and types.
type PodSpec struct {
	// Command replaces the entrypoint of the collector's image. args are its
	// arguments.
	// +optional
	// +listType=atomic
	Command []string `json:"command,omitempty"`

	// Args are the collector's arguments. The default is for an OpenTelemetry
	// Collector with a configuration: --config= and the path of its file. A list
	// here replaces it.
	// +optional
	Args []string `json:"args,omitempty"`

	// WorkingDir is the directory that the collector starts in. The default is
	// that of its image.
	// +optional
	WorkingDir string `json:"workingDir,omitempty"`

	// Env are environment variables of the collector, such as credentials. The
	// configuration refers to them as ${env:NAME}. The operator sets TENANT_ID,
	// TENANT_REFERENCE, TENANT_INSTANCE, CLUSTER_NAME, OTEL_RESOURCE_ATTRIBUTES,
	// K8S_NODE_NAME, K8S_POD_NAME and GOMEMLIMIT. A variable of the same name here
	// replaces it.
	// +optional
	// +listType=map
	// +listMapKey=name
	Env []corev1.EnvVar `json:"env,omitempty"`

	// EnvFrom takes environment variables from whole Secrets and ConfigMaps.
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// Resources of the collector. The default is requests of 100m CPU and 128Mi of
	// memory, and a memory limit of 512Mi. A value here replaces the default as a
	// whole. The operator sets GOMEMLIMIT to 80% of the memory limit, if there is
	// one.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || ['cpu', 'memory'].all(name, !(name in self.requests) || !(name in self.limits) || [self.requests[name], self.limits[name]].exists(amount, !string(amount).matches('^[^eE]{1,32}([eE](i|[+-]?[0-9]{1,2})?)?$')) || quantity(string(self.requests[name])).compareTo(quantity(string(self.limits[name]))) <= 0)",message="a request must not be above its limit; lower the request, or raise the limit"
	// +kubebuilder:validation:XValidation:rule="[has(self.limits) && 'memory' in self.limits ? string(self.limits['memory']) : '1Mi', has(self.requests) && 'memory' in self.requests ? string(self.requests['memory']) : '1Mi'].all(memory, !memory.matches('^[^eE]{1,32}([eE](i|[+-]?[0-9]{1,2})?)?$') || quantity(memory).compareTo(quantity('1Mi')) >= 0 || quantity(memory).compareTo(quantity('0')) == 0)",message="memory of less than 1Mi: m means thousandths, and no unit means bytes; write Mi, as in 512Mi"
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// LivenessProbe replaces the default probe. By default the kubelet asks the
	// health_check extension, if the configuration enables it on an address that
	// the kubelet can reach. An empty object means no probe.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[has(self.exec), has(self.grpc), has(self.httpGet), has(self.tcpSocket)].filter(set, set).size() <= 1",message="a probe has one handler: exec, grpc, httpGet or tcpSocket; remove the others"
	LivenessProbe *corev1.Probe `json:"livenessProbe,omitempty"`

	// ReadinessProbe replaces the default probe, as livenessProbe does.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[has(self.exec), has(self.grpc), has(self.httpGet), has(self.tcpSocket)].filter(set, set).size() <= 1",message="a probe has one handler: exec, grpc, httpGet or tcpSocket; remove the others"
	ReadinessProbe *corev1.Probe `json:"readinessProbe,omitempty"`

	// StartupProbe makes the other probes wait until the collector has started.
	// There is none by default.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[has(self.exec), has(self.grpc), has(self.httpGet), has(self.tcpSocket)].filter(set, set).size() <= 1",message="a probe has one handler: exec, grpc, httpGet or tcpSocket; remove the others"
	StartupProbe *corev1.Probe `json:"startupProbe,omitempty"`

	// Lifecycle says what the collector's container does after it has started and
	// before it ends. It replaces the default, a sleep of 5 seconds before the
	// end. An empty object removes that.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.preStop) || [has(self.preStop.exec), has(self.preStop.httpGet), has(self.preStop.sleep), has(self.preStop.tcpSocket)].filter(set, set).size() == 1",message="preStop: name one handler: exec, httpGet, sleep or tcpSocket"
	// +kubebuilder:validation:XValidation:rule="!has(self.postStart) || [has(self.postStart.exec), has(self.postStart.httpGet), has(self.postStart.sleep), has(self.postStart.tcpSocket)].filter(set, set).size() == 1",message="postStart: name one handler: exec, httpGet or sleep"
	Lifecycle *corev1.Lifecycle `json:"lifecycle,omitempty"`

	// InitContainers run before the collector, one after the other. A container
	// with restartPolicy Always is a sidecar: it starts before the collector and
	// ends after it. They share only the volumes with the collector's container:
	// config, tmp, extraVolumes and the claims. Each has a securityContext of its
	// own, which must meet the Pod Security level of the namespace. A check runs
	// them too.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:XValidation:rule="self.name != 'collector'",message="name: collector is the collector's own container; choose another"
	InitContainers []corev1.Container `json:"initContainers,omitempty"`

	// ExtraContainers run beside the collector. For volumes and securityContext
	// the same holds as for initContainers. A check runs without them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:XValidation:rule="self.name != 'collector'",message="name: collector is the collector's own container; choose another"
	ExtraContainers []corev1.Container `json:"extraContainers,omitempty"`

	// ShareProcessNamespace lets the containers of a pod see each other's
	// processes. The default is false.
	// +optional
	ShareProcessNamespace bool `json:"shareProcessNamespace,omitempty"`

	// PodAnnotations are added to the pods.
	// +optional
	PodAnnotations Annotations `json:"podAnnotations,omitempty"`

	// PodLabels are added to the pods. They cannot replace the operator's own.
	// +optional
	PodLabels Labels `json:"podLabels,omitempty"`

	// PodSecurityContext of the pods. It is merged with the default, which meets
	// the Pod Security level "restricted". null removes the default too.
	// +optional
	// +nullable
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`

	// SecurityContext of the collector's container. It is merged with the default,
	// which meets the Pod Security level "restricted" and has a read-only root
	// file system. null removes the default too.
	// +optional
	// +nullable
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`

	// NodeSelector limits the pods to nodes with these labels.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations of the pods.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:XValidation:rule="!has(self.operator) || self.operator in ['Exists', 'Equal', 'Lt', 'Gt']",message="operator: Exists or Equal (the default); Lt and Gt only where the cluster has them"
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// Affinity of the pods. The pod of a check has only its nodeAffinity.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// TopologySpreadConstraints of the pods, at most one for each topologyKey and
	// whenUnsatisfiable. Without a labelSelector, a constraint counts the
	// Collector's own pods.
	// +optional
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// OS is the operating system of the image, linux or windows. With windows, the
	// pods run on nodes with the label kubernetes.io/os=windows, and the security
	// contexts leave out the fields that only Linux has.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.name in ['linux', 'windows']",message="name: linux or windows"
	OS *corev1.PodOS `json:"os,omitempty"`

	// RuntimeClassName of the pods, such as that of a runtime for GPUs or for
	// sandboxes.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	RuntimeClassName string `json:"runtimeClassName,omitempty"`

	// SchedulerName of the pods. The default is that of Kubernetes.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SchedulerName string `json:"schedulerName,omitempty"`

	// DNSPolicy of the pods: ClusterFirst (the default), ClusterFirstWithHostNet
	// (the default with hostNetwork), Default (that of the node) or None (needs
	// dnsConfig).
	// +optional
	// +kubebuilder:validation:Enum=ClusterFirst;ClusterFirstWithHostNet;Default;None
	DNSPolicy corev1.DNSPolicy `json:"dnsPolicy,omitempty"`

	// DNSConfig adds name servers, search domains and options to those of
	// dnsPolicy.
	// +optional
	DNSConfig *corev1.PodDNSConfig `json:"dnsConfig,omitempty"`

	// HostAliases adds lines to the pods' /etc/hosts.
	// +optional
	// +listType=map
	// +listMapKey=ip
	HostAliases []corev1.HostAlias `json:"hostAliases,omitempty"`

	// PriorityClassName of the pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// TerminationGracePeriodSeconds is how many seconds a pod has to end, 30 by
	// default. If it is more than 5, the collector still takes requests for 5
	// seconds, because nodes send some to it meanwhile. It uses the rest to flush
	// its queues.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// ExtraVolumes are added to the pods. extraVolumeMounts mounts them. A volume
	// named tmp, or a mount at /tmp, replaces the default emptyDir of 256Mi there.
	// The names config and varlogpods are taken, and hostfs with
	// presets.hostMetrics.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(v, !has(v.ephemeral) || !has(v.ephemeral.volumeClaimTemplate) || !has(v.ephemeral.volumeClaimTemplate.metadata) || !has(v.ephemeral.volumeClaimTemplate.metadata.finalizers))",message="ephemeral: volumeClaimTemplate.metadata has labels and annotations only; remove finalizers"
	// +listType=map
	// +listMapKey=name
	ExtraVolumes []corev1.Volume `json:"extraVolumes,omitempty"`

	// ExtraVolumeMounts are added to the collector's container. They cannot be in
	// /etc/collector.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:items:XValidation:rule="self.mountPath != '/etc/collector' && !self.mountPath.startsWith('/etc/collector/')",message="mountPath: /etc/collector is for the configuration; add a file there by collector.files, or mount elsewhere"
	ExtraVolumeMounts []corev1.VolumeMount `json:"extraVolumeMounts,omitempty"`

	// ReloadedVolumes are the names of extraVolumes that the collector reads again
	// by itself when they change. The pods do not roll then. They do roll when the
	// data of another Secret or ConfigMap changes that env, envFrom or
	// extraVolumes refer to, if it has the label kube8.dev/collector.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	ReloadedVolumes []string `json:"reloadedVolumes,omitempty"`

	// HostNetwork runs the pods in the node's network. The namespace must then
	// allow the Pod Security level "privileged". The default is false.
	// +optional
	HostNetwork bool `json:"hostNetwork,omitempty"`

	// HostPID lets the pods see the node's processes. The namespace must then
	// allow the Pod Security level "privileged". The default is false.
	// +optional
	HostPID bool `json:"hostPID,omitempty"`
}
