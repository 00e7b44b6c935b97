package v1alpha1

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodDisruptionBudget limits how many pods a node drain may evict at once, for
// the modes deployment and statefulset. Pods that are not ready may always be
// evicted.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.minAvailable) && has(self.maxUnavailable))",message="podDisruptionBudget: set minAvailable or maxUnavailable, not both"
type PodDisruptionBudget struct {
	// Enabled is false by default.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// MinAvailable is how many pods, or what percentage, must stay.
	// +optional
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`

	// MaxUnavailable is how many pods, or what percentage, may be evicted at once;
	// 1 where neither is set.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// NetworkPolicy limits the collector's traffic. Its ports are open to
// ingressFrom, and nothing else is.
type NetworkPolicy struct {
	// Enabled is false by default.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// IngressFrom are the peers that may reach the collector's ports. The default
	// is everybody.
	// +optional
	// +kubebuilder:validation:items:XValidation:rule="!has(self.ipBlock) || !isCIDR(self.ipBlock.cidr) || cidr(self.ipBlock.cidr) == cidr(self.ipBlock.cidr).masked()",message="ipBlock.cidr: bits of the address are set beyond its prefix, as in 10.0.0.1/8; set 10.0.0.0/8, or a longer prefix"
	IngressFrom []networkingv1.NetworkPolicyPeer `json:"ingressFrom,omitempty"`

	// Egress are rules for what the collector may reach. Without any, egress is
	// not limited.
	// +optional
	// +kubebuilder:validation:items:XValidation:rule="!has(self.to) || self.to.all(peer, !has(peer.ipBlock) || !isCIDR(peer.ipBlock.cidr) || cidr(peer.ipBlock.cidr) == cidr(peer.ipBlock.cidr).masked())",message="ipBlock.cidr: bits of the address are set beyond its prefix, as in 10.0.0.1/8; set 10.0.0.0/8, or a longer prefix"
	Egress []networkingv1.NetworkPolicyEgressRule `json:"egress,omitempty"`
}

// Monitor has Prometheus scrape the collector's own metrics from the port
// named metrics. An OpenTelemetry Collector serves them on localhost alone
// unless service.telemetry.metrics in its configuration names another address.
type Monitor struct {
	// Enabled is false by default.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// Labels of the monitor. A Prometheus selects it by them.
	// +optional
	Labels Labels `json:"labels,omitempty"`

	// Interval between two scrapes, such as 30s. The default is that of
	// Prometheus.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.endsWith('ms')",message="interval: whole seconds, such as 30s"
	Interval PrometheusDuration `json:"interval,omitempty"`

	// ScrapeTimeout after which a scrape is given up, such as 10s. The default is
	// that of Prometheus.
	// +optional
	ScrapeTimeout PrometheusDuration `json:"scrapeTimeout,omitempty"`
}

// PrometheusRule raises alerts about the telemetry of an OpenTelemetry
// Collector: what it refuses, fails to send and drops, and a queue that is
// nearly full.
type PrometheusRule struct {
	// Enabled is false by default.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// Labels of the rule. A Prometheus selects it by them.
	// +optional
	Labels Labels `json:"labels,omitempty"`
}

// PrometheusDuration is a duration as Prometheus writes it: 30s, 1m30s, 1h.
//
// +kubebuilder:validation:Pattern=`^([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$`
// +kubebuilder:validation:MinLength=1
type PrometheusDuration string
