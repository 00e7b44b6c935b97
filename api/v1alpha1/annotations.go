package v1alpha1

const (
	// CollectorLabel is on every object and pod that a Collector becomes, with the Collector's name as its value, and
	// on Secrets and ConfigMaps that Collectors refer to, with any value.
	CollectorLabel = "kube8.dev/collector"

	// BaseLabel is on each base: a ConfigMap or Secret in the operator's namespace whose one key is a part of configurations. Its value is
	// the base's position, BaseFirst or BaseLast.
	BaseLabel = "kube8.dev/base"

	// BasesLabel on a namespace gives all of its Collectors bases: their names, with "_" between them.
	BasesLabel = "kube8.dev/bases"

	// RingLabel on a namespace is a whole number from 0. A change that the operator brings reaches Collectors in lower rings first, and
	// those in namespaces without the label last.
	RingLabel = "kube8.dev/ring"

	// RolloutLabel on a namespace says when its Collectors take a change that the operator brings: RolloutNow or RolloutHold. On a
	// Collector it is RolloutHold, or counts for nothing.
	RolloutLabel = "kube8.dev/rollout"

	// ChangedByAnnotation on a Collector names the user who was the last to change its spec, where a policy of the cluster stamps that.
	// The history of revisions tells it.
	ChangedByAnnotation = "kube8.dev/changed-by"

	// WrittenByAnnotation on a Collector has a generation of its spec and the account that wrote that generation by the kubectl plugin,
	// such as "7 jane". It counts only while the Collector has this generation, and no policy has stamped ChangedByAnnotation.
	WrittenByAnnotation = "kube8.dev/written-by"

	// AppliedAnnotation is on each object that the operator has applied: the hash of the object as it was rendered.
	AppliedAnnotation = "kube8.dev/applied"

	// CheckedAnnotation on a Secret of files and on a workload names the Job that has accepted the content and the pods. A
	// revert to what was checked needs no other check as long as the Secret is there.
	CheckedAnnotation = "kube8.dev/checked"

	// CanaryAnnotation on a workload has the hash of the change in status.canary, while the workload changes canary pods only.
	CanaryAnnotation = "kube8.dev/canary"

	// PromoteAnnotation on a Collector has the hash of a change in status.canary. The change counts as proven.
	PromoteAnnotation = "kube8.dev/promote"

	// AbortAnnotation on a Collector has the hash of a change in status.canary. The change counts as failed.
	AbortAnnotation = "kube8.dev/abort"

	// RolloutNow lets a change in at once, before all rings and beyond the budget.
	RolloutNow = "now"

	// RolloutHold keeps a change out, and no wave waits for it.
	RolloutHold = "hold"

	// RolloutGate has each ring wait until a person lets it begin, see ContinuedAnnotation. It is for the operator's namespace only.
	RolloutGate = "gate"

	// ContinuedAnnotation on the operator's namespace is when a person has last let the next ring begin, as in RFC 3339.
	ContinuedAnnotation = "kube8.dev/rollout-continued"
)
