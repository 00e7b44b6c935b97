package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Collector is a telemetry collector of one tenant. The operator turns it into
// a Helm release of the same name in the same namespace: workload, config
// Secret, Service, ServiceAccount and what else the spec asks for.
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
// +kubebuilder:printcolumn:name="Flowing",type=string,JSONPath=`.status.conditions[?(@.type=="DataFlowing")].reason`,priority=1
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
	// +kubebuilder:default={"observedGeneration":-1}
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
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || self.mode != 'statefulset' || !has(self.updateStrategy) || !has(self.updateStrategy.rollingUpdate) || !has(self.updateStrategy.rollingUpdate.maxUnavailable) || !(string(self.updateStrategy.rollingUpdate.maxUnavailable) in ['0', '0%'])",fieldPath=".updateStrategy.rollingUpdate.maxUnavailable",message="not 0 with mode statefulset, which deletes a pod before it makes the new one; set 1 or leave it out"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || !has(self.autoscaling.enabled) || !self.autoscaling.enabled || !has(self.resources) || (!has(self.autoscaling.targetCPUUtilizationPercentage) && (has(self.autoscaling.targetMemoryUtilizationPercentage) || has(self.autoscaling.metrics) || has(self.autoscaling.keda))) || (has(self.resources.requests) && 'cpu' in self.resources.requests) || (has(self.resources.limits) && 'cpu' in self.resources.limits)",message="autoscaling: it aims at a percentage of the CPU request, and the pods have none; set resources.requests.cpu, or only targetMemoryUtilizationPercentage"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || !has(self.autoscaling.enabled) || !self.autoscaling.enabled || !has(self.resources) || !has(self.autoscaling.targetMemoryUtilizationPercentage) || (has(self.resources.requests) && 'memory' in self.resources.requests) || (has(self.resources.limits) && 'memory' in self.resources.limits)",message="autoscaling: it aims at a percentage of the memory request, and the pods have none; set resources.requests.memory"
// +kubebuilder:validation:XValidation:rule="!has(self.hostNetwork) || !self.hostNetwork || !has(self.ports) || !self.ports.exists(name, has(self.ports[name].hostPort))",message="ports: hostPort not with hostNetwork, with which each port is the node's; remove it"
// +kubebuilder:validation:XValidation:rule="!has(self.hostPID) || !self.hostPID || !has(self.shareProcessNamespace) || !self.shareProcessNamespace",message="shareProcessNamespace: not with hostPID, with which the pods see all processes of the node"
// +kubebuilder:validation:XValidation:rule="!has(self.dnsPolicy) || self.dnsPolicy != 'None' || (has(self.dnsConfig) && has(self.dnsConfig.nameservers) && self.dnsConfig.nameservers.size() > 0)",message="dnsPolicy: None needs dnsConfig.nameservers"
// +kubebuilder:validation:XValidation:rule="!has(self.verticalPodAutoscaler) || !has(self.verticalPodAutoscaler.enabled) || !self.verticalPodAutoscaler.enabled || (has(self.verticalPodAutoscaler.updateMode) && self.verticalPodAutoscaler.updateMode == 'Off') || !has(self.autoscaling) || !has(self.autoscaling.enabled) || !self.autoscaling.enabled || !['cpu', 'memory'].exists(name, (!has(self.verticalPodAutoscaler.controlledResources) || self.verticalPodAutoscaler.controlledResources.size() == 0 || name in self.verticalPodAutoscaler.controlledResources) && (name == 'memory' ? has(self.autoscaling.targetMemoryUtilizationPercentage) : has(self.autoscaling.targetCPUUtilizationPercentage) || !(has(self.autoscaling.targetMemoryUtilizationPercentage) || has(self.autoscaling.metrics) || has(self.autoscaling.keda))))",message="verticalPodAutoscaler: not with autoscaling by a percentage of a request that it changes; set updateMode Off or controlledResources, or scale by another metric"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.service) || !has(oldSelf.service.clusterIP) || oldSelf.service.clusterIP != 'None' || (has(oldSelf.service.enabled) && !oldSelf.service.enabled) || (has(self.service) && ((has(self.service.clusterIP) && self.service.clusterIP == 'None') || (has(self.service.enabled) && !self.service.enabled)))",message="service.clusterIP: None cannot be changed as long as there is the Service; set service.enabled to false before"
// +kubebuilder:validation:XValidation:rule="!has(self.service) || !has(self.service.clusterIP) || self.service.clusterIP != 'None' || (has(self.service.enabled) && !self.service.enabled) || (has(oldSelf.service) && ((has(oldSelf.service.clusterIP) && oldSelf.service.clusterIP == 'None') || (has(oldSelf.service.headless) && oldSelf.service.headless) || (has(oldSelf.service.enabled) && !oldSelf.service.enabled)))",message="service.clusterIP: it cannot become None as long as there is the Service; set service.enabled to false before"
// +kubebuilder:validation:XValidation:rule="!has(self.flow) || has(self.flow.port) || ((!self.collector.name.contains('/') || (has(self.ports) && 'metrics' in self.ports)) && !(has(self.ports) && 'metrics' in self.ports && has(self.ports['metrics'].enabled) && !self.ports['metrics'].enabled))",message="flow: the port of the metrics is not known; set flow.port, or name a port metrics"
// +kubebuilder:validation:XValidation:rule="!has(self.flow) || has(self.flow.profile) || has(self.flow.metrics) || !self.collector.name.contains('/') || self.collector.name.matches('opentelemetry|otel|alloy|fluent-bit|vector|telegraf|prometheus|vmagent')",message="flow: no profile is for a collector of this name; set flow.profile or flow.metrics"
// +kubebuilder:validation:XValidation:rule="!has(self.canary) || !has(self.updateStrategy) || !has(self.updateStrategy.type) || self.updateStrategy.type == 'RollingUpdate'",message="canary: only with updateStrategy.type RollingUpdate; Recreate ends all old pods first, and with OnDelete you decide which pods change"
// +kubebuilder:validation:XValidation:rule="!has(self.canary) || !has(self.updateStrategy) || !has(self.updateStrategy.rollingUpdate) || !has(self.updateStrategy.rollingUpdate.partition)",message="canary: not with updateStrategy.rollingUpdate.partition, which the operator sets for canary pods; remove one of them"
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

	// Canary has a change of the pods prove itself on some of them before the
	// others get it. The default is no canary.
	// +optional
	Canary *Canary `json:"canary,omitempty"`

	// RevisionHistoryLimit is how many revisions the operator records, 10 by
	// default: the deployed one, and those that you can go back to. As many Secrets
	// with configurations stay, and what is in them. A lower limit counts for
	// records from the next revision on.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

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

	// Flow has the operator say in the condition DataFlowing whether telemetry
	// comes in and goes out. flow: {} suffices for most collectors.
	// +optional
	Flow *Flow `json:"flow,omitempty"`

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
