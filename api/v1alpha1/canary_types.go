package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Canary has a change of the pods prove itself. It reaches as many pods as pods
// says. They have proven it when they have been ready for hold, and no container
// of them has restarted or failed. With spec.flow, data must also flow no worse
// through them than through the others. Then the change reaches the other pods.
// Otherwise the last revision serves again, whose pods the change has not
// touched. canary: {} is enough.
type Canary struct {
	// Pods is how many pods get the change first, or what percentage of all pods,
	// rounded up. The default is 1. With mode deployment, and with mode daemonset
	// and maxSurge, they run beside the others.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",message="at least 1, or 1% to 100%"
	Pods *intstr.IntOrString `json:"pods,omitempty"`

	// Hold is for how long these pods have to be ready: 0s to 24h, such as 90s,
	// 10m or 1h30m. The default is 5m. A pod that is no longer ready begins again.
	// +optional
	// +kubebuilder:validation:MaxLength=12
	// +kubebuilder:validation:Pattern=`^([0-9]{1,4}h)?([0-9]{1,4}m)?([0-9]{1,5}s)?$`
	// +kubebuilder:validation:XValidation:rule="self != '' && duration(self) <= duration('24h')",message="a duration from 0s to 24h, such as 90s, 10m or 1h30m"
	Hold string `json:"hold,omitempty"`

	// OnFailure is Rollback (the default) or Pause. Rollback has the last revision
	// serve again. Pause leaves the pods as they are until you promote the change,
	// abort it, or change the spec.
	// +optional
	// +kubebuilder:validation:Enum=Rollback;Pause
	OnFailure string `json:"onFailure,omitempty"`

	// Approval is Automatic (the default) or Manual. Manual has a proven change wait
	// until you promote it.
	// +optional
	// +kubebuilder:validation:Enum=Automatic;Manual
	Approval string `json:"approval,omitempty"`
}

// Values of spec.canary that are not the defaults.
const (
	CanaryPause  = "Pause"
	CanaryManual = "Manual"
)

// CanaryStatus is the last change that canary pods had to prove, as long as
// the change is wanted and not deployed.
type CanaryStatus struct {
	// Hash tells the change apart from other changes: 12 hexadecimal digits, for
	// the annotations kube8.dev/promote and kube8.dev/abort.
	Hash string `json:"hash"`

	// Since is when the change was first applied to canary pods. It is empty
	// until pods of a DaemonSet have been ready for long enough.
	// +optional
	Since metav1.Time `json:"since,omitzero"`

	// RolledBack says why the last revision serves again. It is empty while the
	// change proves itself. The operator does not try the change again, until you
	// promote it.
	// +optional
	RolledBack string `json:"rolledBack,omitempty"`

	// Aborted tells that the change was rolled back because you aborted it. It is
	// tried again when the annotation has gone.
	// +optional
	Aborted bool `json:"aborted,omitempty"`

	// Proven tells that canary pods have proven the change, which waits until you
	// promote it, with approval: Manual.
	// +optional
	Proven bool `json:"proven,omitempty"`

	// Paused says why canary pods have failed, and stay with onFailure: Pause.
	// It stays also if the pods recover.
	// +optional
	Paused string `json:"paused,omitempty"`
}
