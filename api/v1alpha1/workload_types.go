package v1alpha1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// WorkloadSpec is what surrounds the pods: image, ports, Service,
// ServiceAccount, rollout and volumes of their own.
type WorkloadSpec struct {
	// Image says where the collector's image comes from, if not from the default
	// registry.
	// +optional
	Image *Image `json:"image,omitempty"`

	// ImagePullSecrets are Secrets in the Collector's namespace with credentials
	// for the registry.
	// +optional
	// +listType=map
	// +listMapKey=name
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// Ports are the ports that the collector listens on, by name. A distribution
	// of OpenTelemetry, whose collector.name has no "/", also has the ports otlp
	// (4317), otlp-http (4318) and metrics (8888); enabled: false removes one of
	// them. A name has at most 15 lower-case letters, digits and "-". Two enabled
	// ports of one protocol must differ in their number on the Service, in the pod
	// and on the node.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?$') && name.matches('[a-z]') && !name.matches('--'))",message="ports: a name is at most 15 lower-case letters, digits and single '-', with at least one letter"
	Ports map[string]Port `json:"ports,omitempty"`

	// Service makes the collector's ports reachable under the Collector's name,
	// inside the cluster or from outside.
	// +optional
	Service *Service `json:"service,omitempty"`

	// ServiceAccount is the identity of the pods.
	// +optional
	ServiceAccount *ServiceAccount `json:"serviceAccount,omitempty"`

	// UpdateStrategy says how changed pods replace old ones. By default a
	// deployment keeps every old pod until a new one is ready, so that a
	// configuration that the collector refuses takes no running pods down. A pod
	// without a readiness probe counts as ready after 10 seconds. Old pods go
	// first where two cannot be there: with a claim of volumeClaims that only one
	// pod or one node can have, and with a hostPath volume that is written.
	// +optional
	UpdateStrategy *UpdateStrategy `json:"updateStrategy,omitempty"`

	// VolumeClaimTemplates give each pod volumes of its own, for mode statefulset.
	// extraVolumeMounts mounts them. By default the claims stay when pods are
	// scaled away, and go when the Collector is deleted or changes its mode;
	// persistentVolumeClaimRetentionPolicy changes that. Claims grow with
	// requests.storage, if their StorageClass allows it, and cannot shrink. Other
	// changes are for new claims: those that have a volume stay as they are.
	// Pods get the claim of another template one after the other.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	VolumeClaimTemplates []VolumeClaimTemplate `json:"volumeClaimTemplates,omitempty"`

	// PersistentVolumeClaimRetentionPolicy says what happens to the claims of
	// volumeClaimTemplates when the Collector is deleted (whenDeleted, Delete by
	// default) and when pods are scaled away (whenScaled, Retain by default).
	// +optional
	// +kubebuilder:validation:XValidation:rule="[has(self.whenDeleted) ? self.whenDeleted : 'Delete', has(self.whenScaled) ? self.whenScaled : 'Retain'].all(policy, policy in ['Delete', 'Retain'])",message="whenDeleted, whenScaled: Delete or Retain"
	PersistentVolumeClaimRetentionPolicy *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"` //nolint:lll // Kubernetes has such names

	// VolumeClaims are volumes that all pods share. extraVolumeMounts mounts them.
	// A claim is called after the Collector and the volume, such as
	// gateway-archive, and is deleted with the Collector. Later you can change
	// only requests.storage, and only to a larger size.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	VolumeClaims []VolumeClaimTemplate `json:"volumeClaims,omitempty"`
}

// VolumeClaimTemplate describes a PersistentVolumeClaim.
//
// +kubebuilder:validation:XValidation:rule="has(self.spec.resources) && has(self.spec.resources.requests) && 'storage' in self.spec.resources.requests",fieldPath=".spec.resources",message="a claim needs a size; set requests.storage"
// +kubebuilder:validation:XValidation:rule="has(self.spec.accessModes) && self.spec.accessModes.size() > 0",fieldPath=".spec.accessModes",message="a claim needs an access mode, such as ReadWriteOnce"
type VolumeClaimTemplate struct {
	// Metadata of the claim.
	// +required
	Metadata ClaimMetadata `json:"metadata"`

	// Spec of the claim.
	// +required
	Spec corev1.PersistentVolumeClaimSpec `json:"spec"`
}

// ClaimMetadata is what a claim is called.
type ClaimMetadata struct {
	// Name of the volume, which extraVolumeMounts mounts. In the name of a claim
	// of volumeClaimTemplates it is followed by that of the pod, and in that of a
	// claim of volumeClaims it comes after the Collector's.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="a claim's name has lower-case letters, digits and '-', and starts and ends with a letter or digit"
	Name string `json:"name"`

	// Labels of the claims.
	// +optional
	Labels Labels `json:"labels,omitempty"`

	// Annotations of the claims.
	// +optional
	Annotations Annotations `json:"annotations,omitempty"`
}

// Image says where the collector's image comes from. digest wins over tag, and
// tag over collector.version.
type Image struct {
	// Registry is the part of the repository before collector.name, such as
	// registry.example.com/mirror. The default is
	// ghcr.io/open-telemetry/opentelemetry-collector-releases, or what the
	// operator was started with.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+((__|[._]|-+)[a-z0-9]+)*)*/?$')",messageExpression="self.contains('://') ? 'an image has no scheme; remove ' + self.substring(0, self.indexOf('://') + 3) : self.matches('[A-Z]') ? 'has upper case; an image registry is lower case' : self.matches('[ \\t\\r\\n]') ? 'has white space; remove it' : 'not an image registry, such as registry.example.com:5000/mirror'"
	Registry string `json:"registry,omitempty"`

	// Repository is the whole repository, registry included; registry and
	// collector.name are then not used.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?/)?[a-z0-9]+((__|[._]|-+)[a-z0-9]+)*(/[a-z0-9]+((__|[._]|-+)[a-z0-9]+)*)*$')",messageExpression="self.contains('://') ? 'an image has no scheme; remove ' + self.substring(0, self.indexOf('://') + 3) : self.contains('@') ? 'has a digest; it belongs in image.digest' : self.matches('^[^ ]*:[^/ ]*$') ? 'has a tag; it belongs in collector.version or image.tag' : self.matches('[A-Z]') ? 'has upper case; an image repository is lower case' : self.matches('[ \\t\\r\\n]') ? 'has white space; remove it' : 'not an image repository, such as grafana/alloy or registry.example.com:5000/team/collector'"
	Repository string `json:"repository,omitempty"`

	// Tag replaces collector.version as the image's tag.
	// +optional
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_][-A-Za-z0-9_.]{0,127}$`
	Tag string `json:"tag,omitempty"`

	// Digest pins the image: sha256: and 64 hexadecimal digits, or sha512: and 128
	// of them.
	// +optional
	// +kubebuilder:validation:MaxLength=135
	// +kubebuilder:validation:XValidation:rule="self.matches('^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$')",message="a digest is sha256: and 64 hexadecimal digits in lower case, or sha512: and 128 of them"
	Digest string `json:"digest,omitempty"`

	// PullPolicy of the image. The default is Kubernetes' own: Always for the tag
	// latest, else IfNotPresent.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
}

// ServiceAccount is the identity of the collector's pods.
type ServiceAccount struct {
	// Create is true by default; false uses the existing ServiceAccount that name
	// says.
	// +optional
	Create *bool `json:"create,omitempty"`

	// Name of the ServiceAccount. The default is the Collector's name, or the
	// namespace's default ServiceAccount where create is false.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.dns1123Subdomain().validate(self).hasValue()",message="a name has lower-case letters, digits, '-' and '.', and starts and ends with a letter or digit"
	Name string `json:"name,omitempty"`

	// Annotations of a created ServiceAccount, such as those that bind it to a
	// cloud identity.
	// +optional
	Annotations Annotations `json:"annotations,omitempty"`

	// Automount gives the pods a token for the Kubernetes API, for receivers and
	// processors that read from it. The default is false.
	// +optional
	Automount *bool `json:"automount,omitempty"`
}

// UpdateStrategy says how changed pods replace old ones.
type UpdateStrategy struct {
	// Type is RollingUpdate, Recreate (mode deployment) or OnDelete (modes
	// daemonset and statefulset). The default is RollingUpdate or, for a
	// deployment whose pods cannot be two, Recreate.
	// +optional
	// +kubebuilder:validation:Enum=RollingUpdate;Recreate;OnDelete
	Type string `json:"type,omitempty"`

	// RollingUpdate tunes type RollingUpdate.
	// +optional
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`
}

// RollingUpdate tunes a rolling update.
type RollingUpdate struct {
	// MaxUnavailable is how many pods, or what percentage, may be missing during
	// an update. The default is 0 where maxSurge is not, and else 1.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MaxSurge is how many pods, or what percentage, may run beside the wanted
	// ones during an update. The default is 1 for a deployment, unless its pods
	// have hostNetwork or a hostPort. It is 1 for a daemonset too, unless
	// maxUnavailable is more than 0 or a node cannot have two of the pods. That is
	// so with hostNetwork, a hostPort, a hostPath volume that is mounted to be
	// written, or a claim that only one pod can have. It is also so with a device
	// in resources.limits of any container, which is any resource with "/" in its
	// name. A statefulset has none.
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// Partition keeps pods with a lower ordinal at the old version, for mode
	// statefulset.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Partition *int32 `json:"partition,omitempty"`
}
