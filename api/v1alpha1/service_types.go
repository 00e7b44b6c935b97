package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Port describes a port that the collector listens on.
type Port struct {
	// Port is the port number on the Service. Without targetPort it is also the
	// number in the pod.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// TargetPort is the port number in the pod, if it differs from that of the
	// Service. It can also be the name of another port of the pod, such as one of
	// extraContainers, which the Service then sends this port's traffic to.
	// +optional
	TargetPort *intstr.IntOrString `json:"targetPort,omitempty"`

	// HostPort opens a port of this number on the node too. It cannot be set with
	// hostNetwork, where each port is the node's. The namespace must then allow
	// the Pod Security level "privileged". It has no effect with a targetPort by
	// name, which is another container's port: set hostPort at that container.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	HostPort int32 `json:"hostPort,omitempty"`

	// Service puts the port on the Service. The default is true. The port metrics
	// is the exception: a Service of type LoadBalancer has it only if you set
	// service: true for it.
	// +optional
	Service *bool `json:"service,omitempty"`

	// Protocol is TCP (the default), UDP or SCTP.
	// +optional
	// +kubebuilder:validation:Enum=TCP;UDP;SCTP
	Protocol corev1.Protocol `json:"protocol,omitempty"`

	// AppProtocol tells meshes and load balancers the protocol of the application,
	// such as grpc or http.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	AppProtocol string `json:"appProtocol,omitempty"`

	// Enabled is true by default. false removes the port, even if it is one of the
	// defaults.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// Service makes the collector's ports reachable inside the cluster, or outside
// of it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.externalTrafficPolicy) || (has(self.type) && self.type in ['NodePort', 'LoadBalancer'])",message="externalTrafficPolicy: only with type NodePort or LoadBalancer"
// +kubebuilder:validation:XValidation:rule="!(has(self.loadBalancerClass) || has(self.loadBalancerSourceRanges)) || (has(self.type) && self.type == 'LoadBalancer')",message="loadBalancerClass, loadBalancerSourceRanges: only with type LoadBalancer"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterIP) || self.clusterIP != 'None' || !has(self.type) || self.type == 'ClusterIP'",message="clusterIP: None only with type ClusterIP"
type Service struct {
	// Enabled is true by default.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Type is ClusterIP (the default), NodePort or LoadBalancer.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`

	// Annotations of the Service, such as those that a cloud's load balancer
	// reads.
	// +optional
	Annotations Annotations `json:"annotations,omitempty"`

	// Headless adds a second Service, <name>-headless, whose DNS name has the
	// addresses of all pods. Exporters that balance the load themselves need it.
	// Mode statefulset always has it.
	// +optional
	Headless bool `json:"headless,omitempty"`

	// ClusterIP is the address of the Service, or None for a Service without an
	// address. By default Kubernetes chooses one. It cannot be changed afterwards:
	// for another one, set enabled to false for a while.
	// +optional
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="self in ['', 'None'] || isIP(self)",message="an IP address, such as 10.96.0.20, or None"
	ClusterIP string `json:"clusterIP,omitempty"`

	// InternalTrafficPolicy is Cluster (the default) or Local, which keeps traffic
	// on the node that it comes from. Local is usual for mode daemonset.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	InternalTrafficPolicy corev1.ServiceInternalTrafficPolicy `json:"internalTrafficPolicy,omitempty"`

	// ExternalTrafficPolicy is Cluster (the default) or Local. Local keeps traffic
	// from outside on the node that it arrives at, and so the sender's address.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`

	// LoadBalancerClass names the controller that makes the load balancer. It
	// cannot be changed afterwards.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	LoadBalancerClass string `json:"loadBalancerClass,omitempty"`

	// LoadBalancerSourceRanges are the addresses, such as 10.0.0.0/8, that the
	// load balancer accepts traffic from. The default is all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:items:XValidation:rule="!isCIDR(self) || cidr(self) == cidr(self).masked()",message="bits of the address are set beyond its prefix, as in 10.0.0.1/8; set 10.0.0.0/8, or a longer prefix"
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty"`

	// SessionAffinity is None (the default) or ClientIP, which sends one client's
	// connections to one pod.
	// +optional
	// +kubebuilder:validation:Enum=None;ClientIP
	SessionAffinity corev1.ServiceAffinity `json:"sessionAffinity,omitempty"`

	// TrafficDistribution prefers pods that are near the sender: in its zone, or
	// on its node. The default is none. PreferSameZone and PreferSameNode need a
	// cluster that knows them.
	// +optional
	// +kubebuilder:validation:Enum=PreferClose;PreferSameZone;PreferSameNode
	TrafficDistribution string `json:"trafficDistribution,omitempty"`
}
