package v1alpha1

import networkingv1 "k8s.io/api/networking/v1"

// ExposureSpec makes ports of the Service reachable from outside the cluster, by name.
type ExposureSpec struct {
	// Ingress adds an Ingress.
	// +optional
	Ingress *Ingress `json:"ingress,omitempty"`

	// HTTPRoute adds an HTTPRoute of the Gateway API. It is ignored on clusters without that.
	// +optional
	HTTPRoute *Route `json:"httpRoute,omitempty"`

	// GRPCRoute adds a GRPCRoute of the Gateway API. It is ignored on clusters without that.
	// +optional
	GRPCRoute *Route `json:"grpcRoute,omitempty"`
}

// Ingress has an ingress controller send requests to the Service.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || (has(self.hosts) && self.hosts.size() > 0)",message="ingress: hosts is required when enabled"
type Ingress struct {
	// Enabled is false by default.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// IngressClassName says which controller it is for. The default is that of the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	IngressClassName string `json:"ingressClassName,omitempty"`

	// Annotations of the Ingress, which its controller reads.
	// +optional
	Annotations Annotations `json:"annotations,omitempty"`

	// Hosts are what requests are for, and where they go. It is required when enabled.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Hosts []IngressHost `json:"hosts,omitempty"`

	// TLS are the certificates, in Secrets of the Collector's namespace.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	TLS []networkingv1.IngressTLS `json:"tls,omitempty"`
}

// IngressHost says where requests for a host go.
type IngressHost struct {
	// Host is a name, such as otlp.example.com. Without it, requests for every host are meant.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host,omitempty"`

	// Paths are where requests go, by their path. The default is that all of them go to the port otlp-http.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Paths []IngressPath `json:"paths,omitempty"`
}

// IngressPath says where requests for a path go.
type IngressPath struct {
	// Path is / by default.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`

	// PathType is Prefix (the default), Exact or ImplementationSpecific.
	// +optional
	// +kubebuilder:validation:Enum=Prefix;Exact;ImplementationSpecific
	PathType networkingv1.PathType `json:"pathType,omitempty"`

	// Port is the name of a port of the Service, otlp-http by default.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	Port string `json:"port,omitempty"`
}

// Route has a Gateway send requests to a port of the Service.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || (has(self.parentRefs) && self.parentRefs.size() > 0)",message="parentRefs is required when enabled"
type Route struct {
	// Enabled is false by default.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// Annotations of the route.
	// +optional
	Annotations Annotations `json:"annotations,omitempty"`

	// ParentRefs are the Gateways, which must let routes of this namespace attach. It is required when enabled.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	ParentRefs []ParentReference `json:"parentRefs,omitempty"`

	// Hostnames are what requests are for. The default is all hosts of the Gateway's listener.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	Hostnames []string `json:"hostnames,omitempty"`

	// Port is the name of a port of the Service. The default is otlp-http for an httpRoute and otlp for a grpcRoute.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	Port string `json:"port,omitempty"`
}

// ParentReference names a Gateway, or something else that routes can attach to.
type ParentReference struct {
	// Group is gateway.networking.k8s.io by default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// Kind is Gateway by default.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// Namespace of the Gateway. The default is the Collector's.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// Name of the Gateway.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// SectionName is the name of a listener of the Gateway. The default is all of them.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SectionName string `json:"sectionName,omitempty"`

	// Port is the port number of listeners of the Gateway.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}
