package v1alpha1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// Autoscaling says who sets the number of pods, for the modes deployment and
// statefulset: a HorizontalPodAutoscaler, KEDA, or another client.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",message="autoscaling: minReplicas must not be larger than maxReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.maxReplicas)",message="autoscaling: maxReplicas is required when enabled"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !self.external || !has(self.enabled) || !self.enabled",message="autoscaling: external means that somebody else scales; disable enabled or external"
// +kubebuilder:validation:XValidation:rule="!has(self.keda) || !(has(self.metrics) || has(self.targetCPUUtilizationPercentage) || has(self.targetMemoryUtilizationPercentage))",message="autoscaling: keda scales by its triggers alone; write metrics and targets as triggers"
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || self.minReplicas > 0 || has(self.keda) || (has(self.metrics) && self.metrics.exists(metric, metric.type in ['Object', 'External']))",message="autoscaling: minReplicas 0 only with keda, or with a metric of type Object or External, which is there without pods"
type Autoscaling struct {
	// Enabled adds an autoscaler. The default is false. When it becomes true, the
	// operator no longer sets the number of pods, and the pods that run stay until
	// the autoscaler changes their number.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// External leaves the number of pods to an autoscaler that you make, such as a
	// HorizontalPodAutoscaler. Its target is the workload, which has the
	// Collector's name. The operator ignores replicas, and the pods that run stay.
	// The default is false.
	// +optional
	External bool `json:"external,omitempty"`

	// MinReplicas is the smallest number of pods, 1 by default. 0 is allowed with
	// keda, or with a metric of type Object or External. For such a metric the
	// cluster needs the feature HPAScaleToZero, which is on since version 1.37.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// MaxReplicas is the largest number of pods. It is required when enabled.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`

	// TargetCPUUtilizationPercentage is the average CPU usage to aim at, in
	// percent of the CPU request. The default is 80 if you set neither a target
	// nor metrics. For each percentage, all containers and sidecars need a request
	// of that resource, because Kubernetes' autoscaler adds up all of them.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TargetCPUUtilizationPercentage *int32 `json:"targetCPUUtilizationPercentage,omitempty"`

	// TargetMemoryUtilizationPercentage is the average memory usage to aim at, in
	// percent of the memory request.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TargetMemoryUtilizationPercentage *int32 `json:"targetMemoryUtilizationPercentage,omitempty"`

	// Metrics are further metrics to scale by, as in autoscaling/v2: one of the
	// pods, of another object, or of a queue outside of the cluster.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Metrics []autoscalingv2.MetricSpec `json:"metrics,omitempty"`

	// Behavior tunes how fast pods are added and removed.
	// +optional
	Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior,omitempty"`

	// KEDA scales the pods by a ScaledObject, in place of a
	// HorizontalPodAutoscaler. Without KEDA in the cluster nothing scales, and the
	// pods that run stay.
	// +optional
	KEDA *KEDA `json:"keda,omitempty"`
}

// KEDA are the fields of a ScaledObject that autoscaling does not have.
type KEDA struct {
	// Triggers are the event sources that KEDA scales by.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Triggers []KEDATrigger `json:"triggers"`

	// PollingInterval is how many seconds pass between two looks at the triggers.
	// The default is that of KEDA.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PollingInterval *int32 `json:"pollingInterval,omitempty"`

	// CooldownPeriod is how many seconds pass between the last active trigger and
	// the end of the last pod, with minReplicas 0. The default is that of KEDA.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CooldownPeriod *int32 `json:"cooldownPeriod,omitempty"`
}

// KEDATrigger describes an event source.
type KEDATrigger struct {
	// Type of the trigger, such as kafka or prometheus.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Type string `json:"type"`

	// Name of the trigger.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Metadata are the trigger's parameters, such as the queue to look at and the
	// length to aim at. KEDA's documentation of the type lists them.
	// +required
	// +kubebuilder:validation:MaxProperties=64
	Metadata map[string]string `json:"metadata"`

	// MetricType is AverageValue (the default), Value or Utilization.
	// +optional
	// +kubebuilder:validation:Enum=AverageValue;Value;Utilization
	MetricType autoscalingv2.MetricTargetType `json:"metricType,omitempty"`

	// UseCachedMetrics uses a value again until the next polling interval. The
	// default is false.
	// +optional
	UseCachedMetrics bool `json:"useCachedMetrics,omitempty"`

	// AuthenticationRef names the TriggerAuthentication with the trigger's
	// credentials.
	// +optional
	AuthenticationRef *KEDAAuthenticationRef `json:"authenticationRef,omitempty"`
}

// KEDAAuthenticationRef names the object with a trigger's credentials.
type KEDAAuthenticationRef struct {
	// Name of the TriggerAuthentication or ClusterTriggerAuthentication.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Kind is TriggerAuthentication (the default) or ClusterTriggerAuthentication.
	// +optional
	// +kubebuilder:validation:Enum=TriggerAuthentication;ClusterTriggerAuthentication
	Kind string `json:"kind,omitempty"`
}

// VerticalPodAutoscaler adjusts the requests of the collector's container to
// its usage.
type VerticalPodAutoscaler struct {
	// Enabled is false by default.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// UpdateMode is Recreate (the default, which evicts pods to change them),
	// InPlaceOrRecreate, Initial (which changes new pods only) or Off (which
	// recommends and changes nothing).
	// +optional
	// +kubebuilder:validation:Enum=Off;Initial;Recreate;InPlaceOrRecreate
	UpdateMode string `json:"updateMode,omitempty"`

	// MinAllowed are the smallest requests that it sets.
	// +optional
	MinAllowed corev1.ResourceList `json:"minAllowed,omitempty"`

	// MaxAllowed are the largest requests that it sets.
	// +optional
	MaxAllowed corev1.ResourceList `json:"maxAllowed,omitempty"`

	// ControlledResources are the resources whose requests it sets. The default is
	// cpu and memory.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=cpu;memory
	ControlledResources []corev1.ResourceName `json:"controlledResources,omitempty"`

	// ControlledValues is RequestsOnly (the default) or RequestsAndLimits.
	// GOMEMLIMIT follows the memory limit of the spec, so with RequestsAndLimits a
	// lowered limit can fall below it.
	// +optional
	// +kubebuilder:validation:Enum=RequestsOnly;RequestsAndLimits
	ControlledValues string `json:"controlledValues,omitempty"`
}
