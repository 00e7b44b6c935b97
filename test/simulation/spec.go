// Package simulation makes schedules: what people, other controllers and bad luck do to Collectors, event by event, from a seed.
//
// Two levels run the same schedules. The model is a cluster in memory (internal/reconcile, TestSimulation), which takes microseconds
// for a step. The other level is the operator on a real API server.
package simulation

import (
	"fmt"
	"strconv"
	"strings"
)

// Spec is what of a Collector's spec the schedules change.
type Spec struct {
	// Mode is deployment, daemonset or statefulset.
	Mode string

	// Ports tells sets of ports apart: another one changes Service and NetworkPolicy.
	Ports int

	// Image tells images apart.
	Image int

	// Configuration tells contents of the configuration apart. 0 says that it comes from a Secret of the user, and Broken that nothing
	// can be rendered from it.
	Configuration int

	// Check tells spec.check apart; 0 is for none.
	Check int

	// ClaimSize is the size in Gi of the claims of a StatefulSet; 0 is for none.
	ClaimSize int

	// ClaimClass is the StorageClass of these.
	ClaimClass string

	// Volumes are the shared volumeClaims: a bit for each.
	Volumes int

	// VolumeSize is how many Gi these have beyond 1.
	VolumeSize int

	// Autoscaling is none, hpa or keda.
	Autoscaling string

	// Replicas is spec.replicas; 0 leaves it out.
	Replicas int

	// Budget and Policy say that there is a PodDisruptionBudget, and a NetworkPolicy.
	Budget, Policy bool

	// Account is the name of the ServiceAccount; empty is for that of the Collector.
	Account string

	// Role is what the annotations of the Collector's ServiceAccount say.
	Role int

	// Canary says that a changed template has to prove itself. Only the model has it.
	Canary bool

	// HostPort has pods take a port of their node.
	HostPort bool
}

// Missing is the content of a base that is not there.
const Missing = 3

// Broken is the configuration that is refused before anything is rendered.
const Broken = 6

// First is the spec that a Collector begins with.
func First() Spec {
	return Spec{Mode: "deployment", Ports: 1, Image: 1, Configuration: 1, Autoscaling: "none", Policy: true}
}

// With returns the spec with another value of a field. A value that cannot be read changes nothing.
func (s Spec) With(field, value string) Spec {
	number, _ := strconv.Atoi(value)
	switch field {
	case "mode":
		s.Mode = value
	case "ports":
		s.Ports = number
	case "image":
		s.Image = number
	case "configuration":
		s.Configuration = number
	case "check":
		s.Check = number
	case "claim-size":
		s.ClaimSize = number
	case "claim-class":
		s.ClaimClass = value
	case "volumes":
		s.Volumes = number
	case "volume-size":
		s.VolumeSize = number
	case "role":
		s.Role = number
	case "autoscaling":
		s.Autoscaling = value
	case "replicas":
		s.Replicas = number
	case "budget":
		s.Budget = value == "true"
	case "policy":
		s.Policy = value == "true"
	case "account":
		s.Account = value
	case "canary":
		s.Canary = value == "true"
	case "host-port":
		s.HostPort = value == "true"
	}
	return s
}

// Effective returns the spec without the fields that have no effect beside others.
func (s Spec) Effective() Spec {
	if s.Mode == "daemonset" {
		s.Autoscaling, s.Replicas, s.Budget = "none", 0, false
	}
	if s.Autoscaling != "none" {
		s.Replicas = 0
	}
	if s.Account != "" {
		s.Role = 0
	}
	if s.Volumes == 0 {
		s.VolumeSize = 0
	}
	if s.Mode != "statefulset" {
		s.ClaimSize = 0
	}
	if s.ClaimSize == 0 {
		s.ClaimClass = ""
	}
	return s
}

// String returns the fields in one line.
func (s Spec) String() string {
	return strings.Trim(fmt.Sprintf("%+v", struct{ Spec }{s}), "{}")
}
