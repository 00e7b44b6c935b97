package v1alpha1

// Annotations are annotations of an object that a Collector becomes. Those
// below helm.sh/ and kube8.dev/ belong to Helm and to the operator.
//
// +kubebuilder:validation:MaxProperties=64
// +kubebuilder:validation:XValidation:rule="self.all(key, !format.qualifiedName().validate(key.lowerAscii()).hasValue())",message="an annotation's key is an optional DNS subdomain and '/', and at most 63 letters, digits, '-', '_' and '.'"
// +kubebuilder:validation:XValidation:rule="!self.exists(key, key.matches('^([a-z0-9.-]+[.])?(helm[.]sh|kube8[.]dev)/'))",message="keys below helm.sh/ and kube8.dev/ belong to Helm and to the operator; remove them"
type Annotations map[string]string

// Labels are labels of an object that a Collector becomes. Those below
// helm.sh/ and kube8.dev/ belong to Helm and to the operator.
//
// +kubebuilder:validation:MaxProperties=64
// +kubebuilder:validation:XValidation:rule="self.all(key, !format.qualifiedName().validate(key).hasValue())",message="a label's key is an optional DNS subdomain and '/', and at most 63 letters, digits, '-', '_' and '.'"
// +kubebuilder:validation:XValidation:rule="!self.exists(key, key.matches('^([a-z0-9.-]+[.])?(helm[.]sh|kube8[.]dev)/'))",message="keys below helm.sh/ and kube8.dev/ belong to Helm and to the operator; remove them"
type Labels map[string]string
