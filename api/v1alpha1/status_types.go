package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CollectorStatus is what the operator last observed. It never carries
// configuration content: the release's manifest, which the stock reconciler
// writes beside the release's name, is not part of the schema, so the API
// server drops it.
type CollectorStatus struct {
	// ObservedGeneration is the metadata.generation that the rest of the status is
	// about. It is -1 until an operator has reconciled the Collector.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Version is the image's digest or tag that was last deployed, or the
	// collector's version where the spec sets neither.
	// +optional
	Version string `json:"version,omitempty"`

	// ConfigHash is the SHA-256 of the decoded configuration that was last
	// deployed, in hex, as `sha256sum` prints it.
	// +optional
	ConfigHash string `json:"configHash,omitempty"`

	// Bases are the bases that were last deployed, in order, each as name@version.
	// The version is the first 20 digits of the SHA-256 of its content.
	// +optional
	// +listType=atomic
	Bases []string `json:"bases,omitempty"`

	// Replicas is the number of existing pods.
	// +optional
	Replicas int32 `json:"replicas"`

	// ReadyReplicas is the number of pods that are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// DeployedRelease is the Helm release that the Collector became.
	// +optional
	DeployedRelease *DeployedRelease `json:"deployedRelease,omitempty"`

	// History are the revisions that have a record, a Secret of the Helm release:
	// the deployed one is the last. spec.revisionHistoryLimit says how many stay.
	// +optional
	// +listType=map
	// +listMapKey=revision
	History []RecordedRevision `json:"history,omitempty"`

	// Canary is the last change that canary pods had to prove. It is there while the
	// change proves itself, and while it is rolled back.
	// +optional
	Canary *CanaryStatus `json:"canary,omitempty"`

	// BeforeUpdate is what was true of the Collector when its turn came to take a
	// change that the operator brings. It is there while the condition
	// UpdatePending has the reason RollingOut, which ends when the same is true
	// again, and while a hold interrupts that.
	// +optional
	BeforeUpdate *BeforeUpdate `json:"beforeUpdate,omitempty"`

	// RefusedObject is the object that the API server did not let the operator
	// apply when it last tried to deploy the spec. The next attempt begins with
	// it, also that of an operator that has just started.
	// +optional
	RefusedObject *RefusedObject `json:"refusedObject,omitempty"`

	// Conditions are the observations. Ready says whether what the spec asks for
	// is deployed and its pods serve. Its reasons are Available,
	// Progressing, PodsNotReady, ConfigInvalid, ConfigMissing, Checking,
	// CheckFailed, Proving, CanaryPaused, RolledBack, Conflict, ReleaseFailed and
	// Paused. Stalled is there, and True,
	// while only a change of the Collector or of what it refers to can help. PresetsReady says whether
	// the pods may read what their presets read; it is False with the reason
	// RoleMissing and the command that binds the role. UpdatePending is there
	// while a change that the operator brings, such as a new chart, is not rolled
	// out: it is True with reason Waiting, LeftOut, Refused or BaseRefused, and then False with reason
	// RollingOut. DataFlowing is there with spec.flow. It is True with reason
	// Flowing or QueueFilling, False with ExportFails, AllDropped, PartlyDropped or
	// Refusing, and Unknown with NoTraffic, NoMetrics or Unreachable. Initialized, Deployed, ReleaseFailed, Irreconcilable and Paused
	// are conditions of the stock reconciler.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []Condition `json:"conditions,omitempty"`
}

// The reasons of the condition Ready.
const (
	// ReasonAvailable: all pods are of the newest version and serve.
	ReasonAvailable = "Available"

	// ReasonProgressing: a change is on its way to the pods.
	ReasonProgressing = "Progressing"

	// ReasonPodsNotReady: pods do not serve; the message says what is known of
	// them.
	ReasonPodsNotReady = "PodsNotReady"

	// ReasonConfigInvalid: the configuration is refused, and not deployed.
	ReasonConfigInvalid = "ConfigInvalid"

	// ReasonConfigMissing: the Secret that holds the configuration, or its key or
	// label, is missing.
	ReasonConfigMissing = "ConfigMissing"

	// ReasonChecking: the collector checks a change before pods get it. Pods of
	// the last revision still serve.
	ReasonChecking = "Checking"

	// ReasonCheckFailed: a check ended without a verdict, for example because its
	// image cannot be pulled. It is tried again.
	ReasonCheckFailed = "CheckFailed"

	// ReasonProving: canary pods prove a change. The other pods still have the last
	// revision.
	ReasonProving = "Proving"

	// ReasonCanaryPaused: canary pods have failed, and stay as they are, because
	// canary.onFailure is Pause. They wait until the change is promoted or aborted.
	ReasonCanaryPaused = "CanaryPaused"

	// ReasonRolledBack: canary pods have failed to prove a change, or it was
	// aborted. The last revision serves again; the message says why.
	ReasonRolledBack = "RolledBack"

	// ReasonConflict: an object or a Helm release of the Collector's name has
	// another owner. The operator leaves it alone.
	ReasonConflict = "Conflict"

	// ReasonReleaseFailed: the spec could not be deployed; the message says why.
	// The operator tries it again.
	ReasonReleaseFailed = "ReleaseFailed"

	// ReasonPaused: the annotation kube8.dev/paused is set.
	ReasonPaused = "Paused"
)

// ReasonAnnotationInvalid is the reason of the condition Paused, which is False,
// where the annotation kube8.dev/paused says neither true nor false. The message
// says what to set.
const ReasonAnnotationInvalid = "AnnotationInvalid"

// PresetsReady is the type of the condition that says whether the pods'
// ServiceAccount has the rights that the presets need. A Collector whose
// presets need none has no such condition.
const PresetsReady = "PresetsReady"

// The reasons of the condition PresetsReady.
const (
	// ReasonAllowed: the API server allows what the presets need. It is asked
	// again when the spec changes, and an hour after the last answer.
	ReasonAllowed = "Allowed"

	// ReasonRoleMissing: the API server refuses it; the message has the command
	// that binds the role.
	ReasonRoleMissing = "RoleMissing"

	// ReasonNotAsked: the operator has no right to ask the API server what the
	// ServiceAccount may do.
	ReasonNotAsked = "NotAsked"
)

// Stalled is the type of the condition that is True while the operator cannot go
// on by itself: the Collector, or what it refers to, has to change. Its reason
// and its message are those of Ready. Otherwise there is no such condition.
// kstatus of sigs.k8s.io/cli-utils, which Flux uses, takes it for a failure.
const Stalled = "Stalled"

// UpdatePending is the condition that says where a change is that the operator
// brings.
const UpdatePending = "UpdatePending"

// The reasons of the condition UpdatePending.
const (
	// ReasonWaiting: the change waits for its turn; the message names its ring and
	// its place.
	ReasonWaiting = "Waiting"

	// ReasonLeftOut: the label kube8.dev/rollout holds the change back.
	ReasonLeftOut = "LeftOut"

	// ReasonBaseRefused: a base is refused, and stays as it is deployed; the
	// message says why.
	ReasonBaseRefused = "BaseRefused"

	// ReasonRefused: the Collector's turn has come, and the change is refused;
	// the message says why. The deployed revision serves on.
	ReasonRefused = "Refused"

	// ReasonRollingOut: the change is on its way to the pods.
	ReasonRollingOut = "RollingOut"
)

// RecordedRevision is a revision of the Helm release that has a record.
type RecordedRevision struct {
	// Revision is its number, from 1.
	Revision int64 `json:"revision"`

	// UID is that of the Secret.
	UID types.UID `json:"uid"`

	// Hash is the same for revisions with the same objects. It is empty if it is not
	// known.
	// +optional
	Hash string `json:"hash,omitempty"`

	// Generation is the metadata.generation of the Collector. It is 0 if it is not
	// known.
	// +optional
	Generation int64 `json:"generation,omitempty"`
}

// BeforeUpdate is what was true of a Collector before a change.
type BeforeUpdate struct {
	// Ready says that the condition Ready was True. The change does not wait for a
	// Collector that was not ready.
	// +optional
	Ready bool `json:"ready"`

	// DataFlowing says that the condition DataFlowing was True. With
	// --rollout-flow the operator then waits until data flows again.
	// +optional
	DataFlowing bool `json:"dataFlowing"`
}

// RefusedObject names an object in the Collector's namespace.
type RefusedObject struct {
	// Kind of the object.
	// +required
	Kind string `json:"kind"`

	// Name of the object.
	// +required
	Name string `json:"name"`
}

// DeployedRelease names a Helm release.
type DeployedRelease struct {
	// Name of the release: that of the Collector.
	// +optional
	Name string `json:"name,omitempty"`

	// Revision of the release, from 1. Each change that is deployed makes one.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// Generation is the metadata.generation that is deployed.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// Template is the hash of the pod template, where pods have one for a canary. A change
	// with another one has to prove itself.
	// +optional
	Template string `json:"template,omitempty"`

	// Digest is a SHA-256, in hex, over the release and all that it was made from.
	// By it the operator sees after a restart that there is nothing to do.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// Condition is one observation. It is metav1.Condition with less required: the
// stock reconciler writes conditions without a reason or a message.
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
