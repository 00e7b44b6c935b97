package v1alpha1

// ImageRepository is where an image is pulled from, without its tag and digest, such as grafana/alloy or
// registry.example.com:5000/team/collector.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?/)?[a-z0-9]+((__|[._]|-+)[a-z0-9]+)*(/[a-z0-9]+((__|[._]|-+)[a-z0-9]+)*)*$')",messageExpression="self.contains('://') ? 'an image has no scheme; remove ' + self.substring(0, self.indexOf('://') + 3) : self.contains('@') ? 'has a digest; it belongs in image.digest' : self.matches('^[^ ]*:[^/ ]*$') ? 'has a tag; it belongs in collector.version or image.tag' : self.matches('[A-Z]') ? 'has upper case; an image repository is lower case' : self.matches('[ \\t\\r\\n]') ? 'has white space; remove it' : 'not an image repository, such as grafana/alloy or registry.example.com:5000/team/collector'"
type ImageRepository string

// ImageRegistry is the part of an image's repository before the collector's name, such as registry.example.com/mirror.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+((__|[._]|-+)[a-z0-9]+)*)*/?$')",messageExpression="self.contains('://') ? 'an image has no scheme; remove ' + self.substring(0, self.indexOf('://') + 3) : self.matches('[A-Z]') ? 'has upper case; an image registry is lower case' : self.matches('[ \\t\\r\\n]') ? 'has white space; remove it' : 'not an image registry, such as registry.example.com:5000/mirror'"
type ImageRegistry string
