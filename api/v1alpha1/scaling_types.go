package v1alpha1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// Autoscaling says who sets the number of pods, for the modes deployment and statefulset: a HorizontalPodAutoscaler, KEDA, or
// somebody else.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",message="autoscaling: minReplicas must not be larger than maxReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.maxReplicas)",message="autoscaling: maxReplicas is required when enabled"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !self.external || !has(self.enabled) || !self.enabled",message="autoscaling: external means that somebody else scales; disable enabled or external"
// +kubebuilder:validation:XValidation:rule="!has(self.keda) || !(has(self.metrics) || has(self.targetCPUUtilizationPercentage) || has(self.targetMemoryUtilizationPercentage))",message="autoscaling: keda scales by its triggers alone; write metrics and targets as triggers"
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || self.minReplicas > 0 || has(self.keda)",message="autoscaling: minReplicas 0 only with keda"
type Autoscaling struct {
	// Enabled is false by default. When it becomes true, replicas is left to the autoscaler, and a running collector
	// keeps the pods that it has until the autoscaler has made up its mind.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// External leaves the number of pods to an autoscaler that somebody else has made, such as a HorizontalPodAutoscaler of
	// the workload, which has the Collector's name. replicas is ignored, and the pods that run stay. The default is false.
	// +optional
	External bool `json:"external,omitempty"`

	// MinReplicas is the smallest number of pods, 1 by default; 0 only with keda.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// MaxReplicas is the largest number of pods. It is required when enabled.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`

	// TargetCPUUtilizationPercentage is the average CPU usage to aim at, in percent of the CPU request. The default is
	// 80 where neither a target nor metrics are set.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TargetCPUUtilizationPercentage *int32 `json:"targetCPUUtilizationPercentage,omitempty"`

	// TargetMemoryUtilizationPercentage is the average memory usage to aim at, in percent of the memory request.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TargetMemoryUtilizationPercentage *int32 `json:"targetMemoryUtilizationPercentage,omitempty"`

	// Metrics are further metrics to scale by, such as one of the pods' own or of a queue outside of the cluster.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Metrics []autoscalingv2.MetricSpec `json:"metrics,omitempty"`

	// Behavior tunes how fast pods are added and removed.
	// +optional
	Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior,omitempty"`

	// KEDA has KEDA scale, by a ScaledObject, in place of a HorizontalPodAutoscaler. Without KEDA in the cluster nothing
	// scales, and the pods that run stay.
	// +optional
	KEDA *KEDA `json:"keda,omitempty"`
}

// KEDA is what a ScaledObject has beyond limits and behavior.
type KEDA struct {
	// Triggers are what is scaled by.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Triggers []KEDATrigger `json:"triggers"`

	// PollingInterval is the time between two looks at the triggers, in seconds. The default is that of KEDA.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PollingInterval *int32 `json:"pollingInterval,omitempty"`

	// CooldownPeriod is after how many seconds without an active trigger the last pod goes, with minReplicas 0. The default
	// is that of KEDA.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CooldownPeriod *int32 `json:"cooldownPeriod,omitempty"`
}

// KEDATrigger is a trigger of a ScaledObject.
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

	// Metadata says what the trigger looks at, and what it aims at.
	// +required
	// +kubebuilder:validation:MaxProperties=64
	Metadata map[string]string `json:"metadata"`

	// MetricType is AverageValue (the default), Value or Utilization.
	// +optional
	// +kubebuilder:validation:Enum=AverageValue;Value;Utilization
	MetricType autoscalingv2.MetricTargetType `json:"metricType,omitempty"`

	// UseCachedMetrics keeps a value for the polling interval. The default is false.
	// +optional
	UseCachedMetrics bool `json:"useCachedMetrics,omitempty"`

	// AuthenticationRef names the TriggerAuthentication with the credentials.
	// +optional
	AuthenticationRef *KEDAAuthenticationRef `json:"authenticationRef,omitempty"`
}

// KEDAAuthenticationRef names what has a trigger's credentials.
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

// VerticalPodAutoscaler has the requests of the collector's container follow its usage.
type VerticalPodAutoscaler struct {
	// Enabled is false by default.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// UpdateMode is Recreate (the default), which evicts pods to change them, InPlaceOrRecreate, Initial, which changes new
	// pods only, or Off, which recommends and changes nothing.
	// +optional
	// +kubebuilder:validation:Enum=Off;Initial;Recreate;InPlaceOrRecreate
	UpdateMode string `json:"updateMode,omitempty"`

	// MinAllowed is the least that is requested.
	// +optional
	MinAllowed corev1.ResourceList `json:"minAllowed,omitempty"`

	// MaxAllowed is the most that is requested.
	// +optional
	MaxAllowed corev1.ResourceList `json:"maxAllowed,omitempty"`

	// ControlledResources are cpu and memory, which is the default, or one of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=cpu;memory
	ControlledResources []corev1.ResourceName `json:"controlledResources,omitempty"`

	// ControlledValues is RequestsOnly (the default) or RequestsAndLimits. With RequestsOnly, GOMEMLIMIT stays below the
	// memory limit.
	// +optional
	// +kubebuilder:validation:Enum=RequestsOnly;RequestsAndLimits
	ControlledValues string `json:"controlledValues,omitempty"`
}
