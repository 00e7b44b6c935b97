package v1alpha1

// CollectorConfig names a collector, its version and its configuration.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configuration), has(self.configurationText), has(self.configurationSecret)].filter(isSet, isSet).size() <= 1",message="set one of configuration, configurationText and configurationSecret"
// +kubebuilder:validation:XValidation:rule="!has(self.files) || !(has(self.configuration) || has(self.configurationText) || has(self.configurationSecret)) || !((has(self.fileName) ? self.fileName : 'config.yaml') in self.files)",fieldPath=".files",message="has the name of the configuration's own file; rename it, or set fileName"
// +kubebuilder:validation:XValidation:rule="!has(self.files) || self.files.map(name, self.files[name].replace('\\r', \"\").replace('\\n', \"\")).map(text, text.size() / 4 * 3 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0)).sum() <= 262144",fieldPath=".files",message="more than 262144 bytes together when decoded; shorten them"
// +kubebuilder:validation:XValidation:rule="!has(self.files) || self.files.all(name, name.matches('^[-._a-zA-Z0-9]+(/[-._a-zA-Z0-9]+)*$') && name.replace('/', '..').size() <= 253 && !name.matches('(^|/)[.]([.]|/|$)'))",fieldPath=".files",message="a file name has letters, digits, '-', '_' and '.', and does not start with '..'; '/' is between the names of a folder and of a file in it"
// +kubebuilder:validation:XValidation:rule="!has(self.files) || self.files.all(name, !name.startsWith((has(self.fileName) ? self.fileName : 'config.yaml') + '/') && !self.files.exists(other, other.startsWith(name + '/')))",fieldPath=".files",message="has a file with the name of another one's folder; rename one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.files) || self.files.all(name, !name.contains('/') || name.matches('(^|/)[.][.]') || !name.contains('..') && !(name.replace('/', '..') in self.files) && name.replace('/', '..') != (has(self.fileName) ? self.fileName : 'config.yaml'))",fieldPath=".files",message="has '..' in a name where another one has '/'; rename the file"
type CollectorConfig struct {
	// Name is the collector's distribution, such as opentelemetry-collector. It is
	// the last part of the image repository, below image.registry; a name that
	// contains "/" is the whole repository, such as grafana/alloy.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?/)?[a-z0-9]+((__|[._]|-+)[a-z0-9]+)*(/[a-z0-9]+((__|[._]|-+)[a-z0-9]+)*)*$')",messageExpression="self.contains('://') ? 'an image has no scheme; remove ' + self.substring(0, self.indexOf('://') + 3) : self.contains('@') ? 'has a digest; it belongs in image.digest' : self.matches('^[^ ]*:[^/ ]*$') ? 'has a tag; it belongs in collector.version or image.tag' : self.matches('[A-Z]') ? 'has upper case; an image repository is lower case' : self.matches('[ \\t\\r\\n]') ? 'has white space; remove it' : 'not an image repository, such as grafana/alloy or registry.example.com:5000/team/collector'"
	Name string `json:"name"`

	// Version is the collector's version, which is the image's tag as it stands
	// unless image.tag or image.digest says otherwise. Below the default registry,
	// which has the OpenTelemetry releases, the tag goes without the "v" before
	// the version's first digit.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][-A-Za-z0-9_.]*$`
	Version string `json:"version"`

	// Configuration is the collector's configuration, base64-encoded; at most 256
	// KiB when decoded. It reaches the collector byte for byte as a file in
	// /etc/collector, from a Secret. At most one of configuration,
	// configurationText and configurationSecret is set. A collector that needs no
	// configuration has none of them.
	// +optional
	Configuration FileContent `json:"configuration,omitempty"`

	// ConfigurationText is the configuration as it stands, so that reviews see
	// what changes. It reaches the collector as configuration does.
	// +optional
	ConfigurationText FileText `json:"configurationText,omitempty"`

	// ConfigurationSecret takes the configuration from a Secret in the Collector's
	// namespace that another team keeps. The Secret needs the label
	// kube8.dev/collector.
	// +optional
	ConfigurationSecret *ConfigurationSecret `json:"configurationSecret,omitempty"`

	// FileName is the name of the configuration's file in /etc/collector,
	// config.yaml by default. Some collectors choose their parser by its
	// extension.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$') && !self.startsWith('..') && self != '.'",message="a file name has letters, digits, '-', '_' and '.', and does not start with '..'"
	FileName string `json:"fileName,omitempty"`

	// Files are further files in /etc/collector, such as parsers, scripts or
	// certificates: file name to base64-encoded content, together at most 256 KiB
	// when decoded. A name can have folders, such as conf.d/http.conf. The files
	// are not parsed. A change rolls the pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=6
	Files map[string]FileContent `json:"files,omitempty"`

	// Bases are parts of the configuration that the platform keeps for many
	// Collectors, in the operator's namespace. Each becomes a further file,
	// base-NAME with the extension of its key. The argument --config of this
	// Collector's own file becomes one for each file, in order, and the collector
	// merges them. A changed base reaches Collectors in waves. The bases that the
	// namespace's label kube8.dev/bases names come on top, outside of these.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Bases []Base `json:"bases,omitempty"`

	// Format says how the configuration is checked before it is deployed: yaml
	// (the default; one YAML mapping without duplicate keys) or raw (not parsed).
	// +optional
	// +kubebuilder:validation:Enum=yaml;raw
	Format Format `json:"format,omitempty"`
}

// Base names a part of the configuration that the platform keeps.
type Base struct {
	// Name of a ConfigMap or Secret in the operator's namespace with the label
	// kube8.dev/base and one key.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.dns1123Label().validate(self).hasValue()",message="the name of a base has lower-case letters, digits and '-', and starts and ends with a letter or digit"
	Name string `json:"name"`

	// Position says whether the base comes before the Collector's own
	// configuration, or after it and so wins: first or last. The default is what
	// the base's label kube8.dev/base says.
	// +optional
	// +kubebuilder:validation:Enum=first;last
	Position BasePosition `json:"position,omitempty"`
}

// BasePosition is where a base is among the files that a collector merges.
type BasePosition string

// The positions of a base.
const (
	BaseFirst BasePosition = "first"
	BaseLast  BasePosition = "last"
)

// Format is the syntax of a configuration.
type Format string

// The formats of a configuration.
const (
	FormatYAML Format = "yaml"
	FormatRaw  Format = "raw"
)

// ConfigurationSecret points at one key of a Secret. It must meet the same
// rules as configuration, and a change rolls the pods. The operator never
// changes or deletes the Secret.
type ConfigurationSecret struct {
	// Name of the Secret, in the Collector's namespace. The Secret needs the label
	// kube8.dev/collector, so that the operator follows its changes. The value is
	// the Collector's name, or any value when several share the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.dns1123Subdomain().validate(self).hasValue()",message="a name has lower-case letters, digits, '-' and '.', and starts and ends with a letter or digit"
	Name string `json:"name"`

	// Key in the Secret that holds the configuration.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`

	// Copy has the operator copy the configuration, once it is checked, into a
	// immutable Secret of the Collector, which pods mount; true by
	// default. If it is false, pods mount the Secret itself: a pod that starts
	// again gets what is in it then, even if the operator refuses to deploy it.
	// +optional
	Copy *bool `json:"copy,omitempty"`
}
