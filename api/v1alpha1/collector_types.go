package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Collector is a telemetry collector of one tenant. The operator turns it into
// a Helm release of the same name in the same namespace: workload, config
// Secret, Service, ServiceAccount and whatever else the spec asks for.
// Deleting it removes all of them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=col,categories=kube8
// +kubebuilder:selectablefield:JSONPath=`.spec.tenant.id`
// +kubebuilder:selectablefield:JSONPath=`.spec.tenant.reference`
// +kubebuilder:selectablefield:JSONPath=`.spec.cluster`
// +kubebuilder:printcolumn:name="Collector",type=string,JSONPath=`.spec.collector.name`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Tenant",type=string,JSONPath=`.spec.tenant.reference`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.cluster`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Pods",type=integer,JSONPath=`.status.readyReplicas`,priority=1
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.deployedRelease.revision`,priority=1
// +kubebuilder:printcolumn:name="Update",type=string,JSONPath=`.status.conditions[?(@.type=="UpdatePending")].reason`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 53",message="metadata.name: at most 53 characters, because it is the name of the Helm release"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name: lower-case letters, digits and '-', starting with a letter, because it is the name of the Service"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.endsWith('-headless')",message="metadata.name: must not end in -headless, which is how the headless Service of another Collector may be named"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52 || !has(self.spec.mode) || self.spec.mode != 'statefulset'",message="metadata.name: at most 52 characters with mode statefulset, whose pods have a label of the name and 11 more"
type Collector struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec describes the collector.
	// +required
	Spec CollectorSpec `json:"spec"`

	// Status is what the operator last observed. Nothing in it is configuration.
	// +optional
	Status CollectorStatus `json:"status,omitzero"`
}

// CollectorList is a list of Collectors.
//
// +kubebuilder:object:root=true
type CollectorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the Collectors.
	Items []Collector `json:"items"`
}

func init() {
	SchemeBuilder.Register(&Collector{}, &CollectorList{})
}

// CollectorSpec is what a collector should be. Everything but collector,
// tenant and cluster has a default.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.mode) && self.mode == 'daemonset' && has(self.autoscaling) && ((has(self.autoscaling.enabled) && self.autoscaling.enabled) || (has(self.autoscaling.external) && self.autoscaling.external)))",message="autoscaling: not with mode daemonset, which runs one pod on each node; disable autoscaling or choose mode deployment or statefulset"
// +kubebuilder:validation:XValidation:rule="!(has(self.mode) && self.mode == 'daemonset' && has(self.replicas))",message="replicas: not with mode daemonset, which runs one pod on each node; remove replicas or choose mode deployment or statefulset"
// +kubebuilder:validation:XValidation:rule="!(has(self.mode) && self.mode == 'daemonset' && has(self.podDisruptionBudget) && has(self.podDisruptionBudget.enabled) && self.podDisruptionBudget.enabled)",message="podDisruptionBudget: not with mode daemonset, whose pods a drain does not evict; disable it"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeClaimTemplates) || (has(self.mode) && self.mode == 'statefulset')",message="volumeClaimTemplates: only with mode statefulset"
// +kubebuilder:validation:XValidation:rule="!has(self.persistentVolumeClaimRetentionPolicy) || (has(self.mode) && self.mode == 'statefulset')",message="persistentVolumeClaimRetentionPolicy: only with mode statefulset"
// +kubebuilder:validation:XValidation:rule="!has(self.updateStrategy) || !has(self.updateStrategy.type) || self.updateStrategy.type != 'Recreate' || !has(self.mode) || self.mode == 'deployment'",message="updateStrategy.type: Recreate only with mode deployment"
// +kubebuilder:validation:XValidation:rule="!has(self.updateStrategy) || !has(self.updateStrategy.type) || self.updateStrategy.type != 'OnDelete' || (has(self.mode) && self.mode != 'deployment')",message="updateStrategy.type: OnDelete only with mode daemonset or statefulset"
// +kubebuilder:validation:XValidation:rule="!has(self.updateStrategy) || !has(self.updateStrategy.rollingUpdate) || !has(self.updateStrategy.rollingUpdate.partition) || (has(self.mode) && self.mode == 'statefulset')",message="updateStrategy.rollingUpdate.partition: only with mode statefulset"
// +kubebuilder:validation:XValidation:rule="!has(self.updateStrategy) || !has(self.updateStrategy.rollingUpdate) || !has(self.updateStrategy.rollingUpdate.maxSurge) || !has(self.mode) || self.mode != 'statefulset'",message="updateStrategy.rollingUpdate.maxSurge: not with mode statefulset, whose pods have fixed names"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || !has(self.autoscaling.enabled) || !self.autoscaling.enabled || !has(self.resources) || (!has(self.autoscaling.targetCPUUtilizationPercentage) && (has(self.autoscaling.targetMemoryUtilizationPercentage) || has(self.autoscaling.metrics) || has(self.autoscaling.keda))) || (has(self.resources.requests) && 'cpu' in self.resources.requests) || (has(self.resources.limits) && 'cpu' in self.resources.limits)",message="autoscaling: it aims at a percentage of the CPU request, and the pods have none; set resources.requests.cpu, or only targetMemoryUtilizationPercentage"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || !has(self.autoscaling.enabled) || !self.autoscaling.enabled || !has(self.resources) || !has(self.autoscaling.targetMemoryUtilizationPercentage) || (has(self.resources.requests) && 'memory' in self.resources.requests) || (has(self.resources.limits) && 'memory' in self.resources.limits)",message="autoscaling: it aims at a percentage of the memory request, and the pods have none; set resources.requests.memory"
// +kubebuilder:validation:XValidation:rule="!has(self.hostNetwork) || !self.hostNetwork || !has(self.ports) || !self.ports.exists(name, has(self.ports[name].hostPort))",message="ports: hostPort not with hostNetwork, with which each port is the node's; remove it"
// +kubebuilder:validation:XValidation:rule="!has(self.hostPID) || !self.hostPID || !has(self.shareProcessNamespace) || !self.shareProcessNamespace",message="shareProcessNamespace: not with hostPID, with which the pods see all processes of the node"
// +kubebuilder:validation:XValidation:rule="!has(self.dnsPolicy) || self.dnsPolicy != 'None' || (has(self.dnsConfig) && has(self.dnsConfig.nameservers) && self.dnsConfig.nameservers.size() > 0)",message="dnsPolicy: None needs dnsConfig.nameservers"
// +kubebuilder:validation:XValidation:rule="!has(self.verticalPodAutoscaler) || !has(self.verticalPodAutoscaler.enabled) || !self.verticalPodAutoscaler.enabled || (has(self.verticalPodAutoscaler.updateMode) && self.verticalPodAutoscaler.updateMode == 'Off') || !has(self.autoscaling) || !has(self.autoscaling.enabled) || !self.autoscaling.enabled || (!has(self.autoscaling.targetCPUUtilizationPercentage) && !has(self.autoscaling.targetMemoryUtilizationPercentage) && (has(self.autoscaling.metrics) || has(self.autoscaling.keda)))",message="verticalPodAutoscaler: not with autoscaling by a percentage of the requests, which it changes; set updateMode Off, or scale by autoscaling.metrics or keda"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.service) || !has(oldSelf.service.clusterIP) || oldSelf.service.clusterIP != 'None' || (has(oldSelf.service.enabled) && !oldSelf.service.enabled) || (has(self.service) && ((has(self.service.clusterIP) && self.service.clusterIP == 'None') || (has(self.service.enabled) && !self.service.enabled)))",message="service.clusterIP: None cannot be changed as long as there is the Service; set service.enabled to false before"
// +kubebuilder:validation:XValidation:rule="!has(self.service) || !has(self.service.clusterIP) || self.service.clusterIP != 'None' || (has(self.service.enabled) && !self.service.enabled) || (has(oldSelf.service) && ((has(oldSelf.service.clusterIP) && oldSelf.service.clusterIP == 'None') || (has(oldSelf.service.headless) && oldSelf.service.headless) || (has(oldSelf.service.enabled) && !oldSelf.service.enabled)))",message="service.clusterIP: it cannot become None as long as there is the Service; set service.enabled to false before"
type CollectorSpec struct {
	// Collector names the collector and carries its configuration.
	// +required
	Collector CollectorConfig `json:"collector"`

	// Tenant says whose collector this is. It reaches the pods as labels and
	// environment. The configuration refers to these as ${env:TENANT_ID} and so
	// on.
	// +required
	Tenant Tenant `json:"tenant"`

	// Cluster is the name of the cluster that the collector observes, as its
	// telemetry names it. It reaches the pods as the label kube8.dev/cluster, as
	// CLUSTER_NAME, and as k8s.cluster.name in OTEL_RESOURCE_ATTRIBUTES.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	Cluster string `json:"cluster"`

	// Mode is the kind of workload that runs the collector: deployment (the
	// default), daemonset (one pod on each matching node) or statefulset (stable
	// names and volumes).
	// +optional
	// +kubebuilder:validation:Enum=deployment;daemonset;statefulset
	Mode Mode `json:"mode,omitempty"`

	// Replicas is the number of pods, 1 by default. It is ignored while
	// autoscaling is enabled or external.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// Check lets the collector itself check each change in a Job, before the
	// change reaches the pods. The default is no check.
	// +optional
	Check *Check `json:"check,omitempty"`

	WorkloadSpec `json:",inline"`
	ExposureSpec `json:",inline"`
	PodSpec      `json:",inline"`

	// Autoscaling lets a HorizontalPodAutoscaler, KEDA or an autoscaler of your
	// own set the number of pods.
	// +optional
	Autoscaling *Autoscaling `json:"autoscaling,omitempty"`

	// VerticalPodAutoscaler adjusts the requests of the collector's container to
	// its usage. It is ignored on clusters without the autoscaling.k8s.io API.
	// +optional
	VerticalPodAutoscaler *VerticalPodAutoscaler `json:"verticalPodAutoscaler,omitempty"`

	// PodDisruptionBudget limits how many pods a node drain may evict at once.
	// +optional
	PodDisruptionBudget *PodDisruptionBudget `json:"podDisruptionBudget,omitempty"`

	// NetworkPolicy limits who may reach the collector's ports, and whom the
	// collector may reach.
	// +optional
	NetworkPolicy *NetworkPolicy `json:"networkPolicy,omitempty"`

	// ServiceMonitor has Prometheus scrape the collector's own metrics through its
	// Service. It is ignored on clusters without the monitoring.coreos.com API.
	// +optional
	ServiceMonitor *Monitor `json:"serviceMonitor,omitempty"`

	// PodMonitor has Prometheus scrape the collector's own metrics pod by pod. It
	// is ignored on clusters without the monitoring.coreos.com API.
	// +optional
	PodMonitor *Monitor `json:"podMonitor,omitempty"`

	// PrometheusRule has Prometheus raise alerts about the collector's own
	// metrics. It needs serviceMonitor or podMonitor. It is ignored on clusters
	// without the monitoring.coreos.com API.
	// +optional
	PrometheusRule *PrometheusRule `json:"prometheusRule,omitempty"`

	// Presets give the pods what common receivers and processors need of the node
	// and of the Kubernetes API.
	// +optional
	Presets *Presets `json:"presets,omitempty"`
}

// Mode is the kind of workload that runs a collector.
type Mode string

// The modes of a Collector.
const (
	ModeDeployment  Mode = "deployment"
	ModeDaemonSet   Mode = "daemonset"
	ModeStatefulSet Mode = "statefulset"
)

// CollectorConfig names a collector, its version and its configuration.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configuration), has(self.configurationText), has(self.configurationSecret)].filter(isSet, isSet).size() <= 1",message="set one of configuration, configurationText and configurationSecret"
// +kubebuilder:validation:XValidation:rule="!has(self.files) || !(has(self.configuration) || has(self.configurationText) || has(self.configurationSecret)) || !((has(self.fileName) ? self.fileName : 'config.yaml') in self.files)",fieldPath=".files",message="has the name of the configuration's own file; rename it, or set fileName"
// +kubebuilder:validation:XValidation:rule="!has(self.files) || self.files.map(name, self.files[name].replace('\\r', \"\").replace('\\n', \"\")).map(text, text.size() / 4 * 3 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0)).sum() <= 262144",fieldPath=".files",message="more than 262144 bytes together when decoded; shorten them"
// +kubebuilder:validation:XValidation:rule="!has(self.files) || self.files.all(name, name.matches('^[-._a-zA-Z0-9]{1,253}$') && !name.startsWith('..') && name != '.')",fieldPath=".files",message="a file name has letters, digits, '-', '_' and '.', and does not start with '..'"
type CollectorConfig struct {
	// Name is the collector's distribution, such as opentelemetry-collector. It is
	// the last part of the image repository, below image.registry; a name that
	// contains "/" is the whole repository, such as grafana/alloy.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?/)?[a-z0-9]+((__|[._]|-+)[a-z0-9]+)*(/[a-z0-9]+((__|[._]|-+)[a-z0-9]+)*)*$')",messageExpression="self.contains('://') ? 'an image has no scheme; remove ' + self.substring(0, self.indexOf('://') + 3) : self.contains('@') ? 'has a digest; it belongs in image.digest' : self.matches('^[^ ]*:[^/ ]*$') ? 'has a tag; it belongs in collector.version or image.tag' : self.matches('[A-Z]') ? 'has upper case; an image repository is lower case' : self.matches('[ \\t\\r\\n]') ? 'has white space; remove it' : 'not an image repository, such as grafana/alloy or registry.example.com:5000/team/collector'"
	Name string `json:"name"`

	// Version is the collector's version, which is the image's tag as it stands
	// unless image.tag or image.digest says otherwise. Below the default registry,
	// which has the OpenTelemetry releases, the tag goes without the "v" before
	// the version's first digit.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][-A-Za-z0-9_.]*$`
	Version string `json:"version"`

	// Configuration is the collector's configuration, base64-encoded; at most 256
	// KiB when decoded. It reaches the collector byte for byte as a file in
	// /etc/collector, from a Secret. At most one of configuration,
	// configurationText and configurationSecret is set. A collector that needs no
	// configuration has none of them.
	// +optional
	Configuration FileContent `json:"configuration,omitempty"`

	// ConfigurationText is the configuration as it stands, so that reviews see
	// what changes. It reaches the collector as configuration does.
	// +optional
	ConfigurationText FileText `json:"configurationText,omitempty"`

	// ConfigurationSecret takes the configuration from a Secret in the Collector's
	// namespace that somebody else keeps. The Secret needs the label
	// kube8.dev/collector.
	// +optional
	ConfigurationSecret *ConfigurationSecret `json:"configurationSecret,omitempty"`

	// FileName is the name of the configuration's file in /etc/collector,
	// config.yaml by default. Some collectors choose their parser by its
	// extension.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$') && !self.startsWith('..') && self != '.'",message="a file name has letters, digits, '-', '_' and '.', and does not start with '..'"
	FileName string `json:"fileName,omitempty"`

	// Files are further files in /etc/collector, such as parsers, scripts or
	// certificates: file name to base64-encoded content, together at most 256 KiB
	// when decoded. They are not parsed. A change rolls the pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=6
	Files map[string]FileContent `json:"files,omitempty"`

	// Format says how the configuration is checked before it is deployed: yaml
	// (the default; one YAML mapping without duplicate keys) or raw (not parsed).
	// +optional
	// +kubebuilder:validation:Enum=yaml;raw
	Format Format `json:"format,omitempty"`
}

// Format is the syntax of a configuration.
type Format string

// The formats of a configuration.
const (
	FormatYAML Format = "yaml"
	FormatRaw  Format = "raw"
)

// ConfigurationSecret points at one key of a Secret. It must meet the same
// rules as configuration, and a change rolls the pods. The operator never
// changes or deletes the Secret.
type ConfigurationSecret struct {
	// Name of the Secret, in the Collector's namespace. The Secret needs the label
	// kube8.dev/collector, so that the operator follows its changes. The value is
	// the Collector's name, or any value when several share the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.dns1123Subdomain().validate(self).hasValue()",message="a name has lower-case letters, digits, '-' and '.', and starts and ends with a letter or digit"
	Name string `json:"name"`

	// Key in the Secret that holds the configuration.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`

	// Copy has the operator copy the configuration, once it is checked, into a
	// Secret of the Collector that nobody can change, which pods mount; true by
	// default. If it is false, pods mount the Secret itself: a pod that starts
	// again gets what is in it then, even if the operator refuses to deploy it.
	// +optional
	Copy *bool `json:"copy,omitempty"`
}

// Tenant says whose collector it is. Its values are Kubernetes label values.
type Tenant struct {
	// ID identifies the tenant. It cannot be changed: a collector does not move
	// from one tenant to another.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="tenant.id cannot be changed; create another Collector for the other tenant"
	ID string `json:"id"`

	// Reference is the tenant's name for people. It cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="tenant.reference cannot be changed; create another Collector for the other tenant"
	Reference string `json:"reference"`

	// Instance tells apart several instances of one tenant, such as production and
	// staging.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	Instance string `json:"instance,omitempty"`
}
