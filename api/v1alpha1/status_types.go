package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CollectorStatus is what the operator last observed. It never carries configuration content: the release's manifest,
// which the stock reconciler writes beside the release's name, is not part of the schema, so the API server drops it.
type CollectorStatus struct {
	// Conditions are the observations: Initialized, Deployed, ReleaseFailed, Irreconcilable and Paused are the stock
	// reconciler's; Ready says whether the workload serves.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []Condition `json:"conditions,omitempty"`

	// DeployedRelease is the Helm release that the Collector became.
	// +optional
	DeployedRelease *DeployedRelease `json:"deployedRelease,omitempty"`
}

// DeployedRelease names a Helm release.
type DeployedRelease struct {
	// Name of the release: that of the Collector.
	// +optional
	Name string `json:"name,omitempty"`
}

// Condition is one observation. It is metav1.Condition with less required: the stock reconciler writes conditions
// without a reason or a message.
type Condition struct {
	// Type of the condition, in CamelCase.
	// +required
	Type string `json:"type"`

	// Status is True, False or Unknown.
	// +required
	// +kubebuilder:validation:Enum=True;False;Unknown
	Status corev1.ConditionStatus `json:"status"`

	// Reason is a CamelCase word for machines.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`

	// LastTransitionTime is when status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
}
