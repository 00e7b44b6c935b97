package main

import (
	"cmp"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	// metricsPort is the name of the port of the collector's own metrics, which takes no data.
	metricsPort = "metrics"

	// anywhere is where the address of a load balancer can be reached from.
	anywhere = "from outside"
)

// address is where a port of a Collector can be reached.
type address struct{ Port, At, From string }

// destinations are where a Collector takes data.
type destinations struct {
	HasService bool
	Addresses  []address
	Closed     []string // ports of the Service that the configuration does not open
	Doubt      string   // why it is not known what the configuration opens
}

// destinationsOf returns where the ports of the Services can be reached that the configuration opens. A Service without an address of its
// own counts if there is no other.
func destinationsOf(c *v1alpha1.Collector, services []corev1.Service) *destinations {
	isHeadless := func(s corev1.Service) bool { return s.Spec.ClusterIP == corev1.ClusterIPNone }
	if withIP := slices.DeleteFunc(slices.Clone(services), isHeadless); len(withIP) > 0 {
		services = withIP
	}
	config, doubt := listening(c)
	d := &destinations{HasService: len(services) > 0, Doubt: doubt}
	for _, service := range services {
		for _, port := range service.Spec.Ports {
			switch {
			case port.Name == metricsPort:
			case doubt == "" && !isOpen(c, config, port):
				d.Closed = append(d.Closed, fmt.Sprintf("%s (%d)", port.Name, port.Port))
			default:
				d.Addresses = append(d.Addresses, addresses(service, port)...)
			}
		}
	}
	return d
}

// addresses returns where a port of a Service can be reached.
func addresses(service corev1.Service, port corev1.ServicePort) (found []address) {
	scheme := ""
	if protocol := port.AppProtocol; protocol != nil && strings.HasPrefix(*protocol, "http") {
		scheme = *protocol + "://"
	}
	add := func(host, from string) {
		at := scheme + net.JoinHostPort(host, strconv.Itoa(int(port.Port)))
		if port.Protocol != corev1.ProtocolTCP {
			at += " (" + string(port.Protocol) + ")"
		}
		found = append(found, address{port.Name, at, from})
	}
	add(service.Name+"."+service.Namespace, "in the cluster")
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		add(cmp.Or(ingress.Hostname, ingress.IP), anywhere)
	}
	return found
}

// comment is a line that opens nothing, in any language of a collector.
var comment = regexp.MustCompile(`(?m)^[ \t]*(#|//).*$`)

// listening returns the part of a configuration that opens ports for data, or why it is not known.
func listening(c *v1alpha1.Collector) (text, doubt string) {
	config := c.Spec.Collector
	text = cmp.Or(string(config.ConfigurationText), string(config.Configuration))
	switch {
	case config.ConfigurationSecret != nil:
		return "", "the configuration is in a Secret, which the portal cannot read"
	case len(config.Bases)+len(c.Status.Bases) > 0:
		return "", "bases of the platform are a part of the configuration"
	case text == "":
		return "", "the Collector has no configuration of its own"
	}
	texts := []string{receivers(text)}
	for _, file := range config.Files {
		texts = append(texts, comment.ReplaceAllString(string(file), ""))
	}
	return strings.Join(texts, "\n"), ""
}

// receivers returns the receivers in the pipelines of an OpenTelemetry Collector. Any other text stays, without comments.
func receivers(text string) string {
	var config struct {
		Receivers map[string]any
		Service   struct {
			Pipelines map[string]struct{ Receivers []string }
		}
	}
	if yaml.Unmarshal([]byte(text), &config) != nil || len(config.Service.Pipelines) == 0 {
		return comment.ReplaceAllString(text, "")
	}
	used := map[string]any{}
	for _, pipeline := range config.Service.Pipelines {
		for _, name := range pipeline.Receivers {
			used[name] = config.Receivers[name]
		}
	}
	found, err := yaml.Marshal(used)
	if err != nil { // of what was read from YAML
		return text
	}
	return string(found)
}

// isOpen tells whether a configuration has the number of a Service's port in the pod, alone or with an address that other pods reach. A
// port of another container is open.
func isOpen(c *v1alpha1.Collector, config string, port corev1.ServicePort) bool {
	target := port.TargetPort
	if target.Type == intstr.String { // the operator names the ports of pods
		target = intstr.FromInt32(port.Port)
		if asked := c.Spec.Ports[port.Name].TargetPort; asked != nil {
			target = *asked
		}
	}
	if target.Type == intstr.String {
		return true
	}
	number := cmp.Or(target.IntVal, port.Port)
	at := regexp.MustCompile(fmt.Sprintf(`(?m)(^|[^\w.\]:-]|:-|(^|[^\w.-])(0\.0\.0\.0|\[::\])):?%d\b`, number))
	return at.MatchString(config)
}
