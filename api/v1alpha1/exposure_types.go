package v1alpha1

import networkingv1 "k8s.io/api/networking/v1"

// ExposureSpec makes ports of the Service reachable from outside the cluster,
// by name.
type ExposureSpec struct {
	// Ingress has an ingress controller send requests from outside of the cluster
	// to the Service.
	// +optional
	Ingress *Ingress `json:"ingress,omitempty"`

	// HTTPRoute has a Gateway send HTTP requests to the Service. It is ignored on
	// clusters without the Gateway API.
	// +optional
	HTTPRoute *Route `json:"httpRoute,omitempty"`

	// GRPCRoute has a Gateway send gRPC requests to the Service. It is ignored on
	// clusters without the Gateway API.
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

	// IngressClassName names the class of the ingress controller. The default is
	// that of the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	IngressClassName string `json:"ingressClassName,omitempty"`

	// Annotations of the Ingress, which its controller reads.
	// +optional
	Annotations Annotations `json:"annotations,omitempty"`

	// Hosts are the host names that the Ingress takes requests for, with their
	// ports. They are required when enabled.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Hosts []IngressHost `json:"hosts,omitempty"`

	// TLS lists host names and the Secrets of the Collector's namespace that have
	// their certificates.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	TLS []networkingv1.IngressTLS `json:"tls,omitempty"`
}

// IngressHost routes the requests for a host.
type IngressHost struct {
	// Host is a host name, such as otlp.example.com. Without it, the rule is for
	// every host.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host,omitempty"`

	// Paths route requests by their path. By default all requests go to the port
	// otlp-http.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Paths []IngressPath `json:"paths,omitempty"`
}

// IngressPath routes the requests for a path.
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

	// ParentRefs are the Gateways that the route attaches to. They must allow
	// routes of this namespace. They are required when enabled. Two references to
	// one Gateway need a sectionName or a port each.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	ParentRefs []ParentReference `json:"parentRefs,omitempty"`

	// Hostnames are the host names that the route takes requests for. The default
	// is all those of the Gateway's listener.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Hostnames []string `json:"hostnames,omitempty"`

	// Port is the name of a port of the Service. The default is otlp-http for an
	// httpRoute and otlp for a grpcRoute.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	Port string `json:"port,omitempty"`
}

// ParentReference names a Gateway, or something else that routes can attach
// to.
type ParentReference struct {
	// Group is gateway.networking.k8s.io by default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Group string `json:"group,omitempty"`

	// Kind is Gateway by default.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`
	Kind string `json:"kind,omitempty"`

	// Namespace of the Gateway. The default is the Collector's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`

	// Name of the Gateway.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// SectionName selects a listener of the Gateway by its name. The default is
	// all of them.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	SectionName string `json:"sectionName,omitempty"`

	// Port selects the listeners of the Gateway by their port number.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}
