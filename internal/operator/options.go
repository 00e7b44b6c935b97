// Package operator is step 3 of the data flow: it wires the stock reconciler of helm-operator-plugins, one for each
// entry of watches.yaml, with the options and decorators that the other packages provide. It reconciles nothing itself.
package operator

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/flow"
	"github.com/kube8/kube8-operator/internal/rollout"
)

// Options are the operator's flags. Flags that the stock helm-operator has, too, have its names.
type Options struct {
	// WatchesFile is the path of a watches file; the chart paths in it are relative to its folder. Empty means the
	// watches.yaml and the chart that are embedded in the binary.
	WatchesFile string

	// CollectorRegistry replaces the chart's default for image.registry, for mirrors and disconnected clusters. A
	// Collector can still set its own. Empty means the chart's default.
	CollectorRegistry string

	// ReconcilePeriod is how often a Collector is checked when nothing happens, unless its watch says otherwise.
	ReconcilePeriod time.Duration

	// MaxConcurrentReconciles is how many Collectors are worked on at a time, unless their watch says otherwise; 0 is the default.
	MaxConcurrentReconciles int

	// RolloutBudget is how many Collectors may be on their way at once with a change that the operator brings: a number, or a
	// percentage of those that the change concerns, and at least 1. Empty means 5%, and at least 2.
	RolloutBudget string

	// RolloutDeadline is how long a Collector may take to become ready with such a change.
	RolloutDeadline time.Duration

	// RolloutSoak is how long lower rings must have been done with such a change before a ring begins.
	RolloutSoak time.Duration

	// RolloutCanary has such a change prove itself on a pod of a Collector without spec.canary, too.
	RolloutCanary bool

	// RolloutFlow has such a change wait until data flows again through a Collector with spec.flow, where it did before.
	RolloutFlow bool

	// FlowPeriod is the time between two looks at the metrics of pods of a Collector with spec.flow.
	FlowPeriod time.Duration

	// FlowHostNetwork lets the operator read the metrics of pods that are on the network of their node.
	FlowHostNetwork bool

	// BasesNamespace is where the bases are that Collectors share. Empty means the operator's namespace.
	BasesNamespace string

	// Namespace is where the operator runs, if that is a cluster. It has no flag.
	Namespace string

	// Build tells this build of the operator apart from others, which may render otherwise. It has no flag.
	Build string

	// Manager are the options of controller-runtime's manager that have a flag: leader election, probes and metrics. Run
	// sets the others.
	Manager manager.Options
}

// Workers returns how many Collectors are worked on at a time: by default two for each processor, because each waits for the API server
// most of the time.
func (o *Options) Workers() int { return cmp.Or(o.MaxConcurrentReconciles, 2*runtime.GOMAXPROCS(0)) }

// AddFlags binds the options to flags, with their defaults.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.AddChartFlags(flags)
	flags.DurationVar(&o.ReconcilePeriod, "reconcile-period", time.Hour,
		"how often a resource is reconciled when nothing changes; reconcilePeriod in the watches file takes precedence")
	flags.IntVar(&o.MaxConcurrentReconciles, "max-concurrent-reconciles", 0,
		"how many resources are reconciled at a time; default is two for each processor, "+
			"and maxConcurrentReconciles in the watches file takes precedence")
	flags.StringVar(&o.RolloutBudget, "rollout-budget", "",
		"how many resources may roll out a change of the operator at once, a number or a percentage, and at least 1; "+
			"default is 5%, and at least 2")
	flags.DurationVar(&o.RolloutDeadline, "rollout-deadline", 10*time.Minute,
		"how long a resource may take to become ready with it; the rollout stops when as many resources as the budget allows are late")
	flags.DurationVar(&o.RolloutSoak, "rollout-soak", 0,
		"how long lower rings must have been done with it before a ring begins")
	flags.BoolVar(&o.RolloutFlow, "rollout-flow", false,
		"have a resource with spec.flow become ready with it only when data flows again where it did before")
	flags.StringVar(&o.BasesNamespace, "bases-namespace", "",
		"namespace of the ConfigMaps and Secrets with the label "+v1alpha1.BaseLabel+"; default is the operator's own")
	flags.DurationVar(&o.FlowPeriod, "flow-period", flow.Period,
		"for spec.flow, how often the metrics of two pods of a resource are read")
	flags.BoolVar(&o.FlowHostNetwork, "flow-host-network", false,
		"for spec.flow, also read the metrics of pods that are on the network of their node")
	flags.StringVar(&o.Manager.Metrics.BindAddress, "metrics-bind-address", ":8443",
		"address of the metrics endpoint, or 0 for none")
	flags.BoolVar(&o.Manager.Metrics.SecureServing, "metrics-secure", true,
		"serve metrics over TLS, to authenticated and authorized callers only")
	flags.StringVar(&o.Manager.Metrics.CertDir, "metrics-cert-dir", "",
		"directory with tls.crt and tls.key for the metrics endpoint, read again when they change; default is a self-signed certificate")
	flags.StringVar(&o.Manager.HealthProbeBindAddress, "health-probe-bind-address", ":8081",
		"address of the probes /healthz and /readyz, or 0 for none")
	flags.BoolVar(&o.Manager.LeaderElection, "leader-elect", false,
		"run only while holding the leader Lease, so that one operator at a time is active")
	o.AddLeaseFlags(flags)
}

// AddLeaseFlags binds the options that name the leader Lease.
func (o *Options) AddLeaseFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Manager.LeaderElectionID, "leader-election-id", "kube8-operator",
		"name of the leader Lease")
	flags.StringVar(&o.Manager.LeaderElectionNamespace, "leader-election-namespace", "",
		"namespace of the leader Lease; required outside a cluster")
}

// AddChartFlags binds the options that decide what a Collector is rendered to.
func (o *Options) AddChartFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.WatchesFile, "watches-file", "",
		"path of a file that maps kinds to charts, whose paths are relative to its folder; default is the embedded file")
	flags.StringVar(&o.CollectorRegistry, "collector-registry", "",
		"default registry of collector images, instead of the chart's")
	flags.BoolVar(&o.RolloutCanary, "rollout-canary", false,
		"have a change of the operator prove itself on one pod of a resource without spec.canary, too; its pods get a stamp for that")
}

// findNamespace sets where the operator runs, if that is a pod.
func (o *Options) findNamespace() {
	if namespace, err := os.ReadFile(namespaceFile); err == nil { // without it, the chart's default stays
		o.Namespace = strings.TrimSpace(string(namespace))
	}
}

// namespace returns where the operator runs. Out of a cluster it is where its Lease is, or where the manifests put it.
func (o *Options) namespace() string {
	return cmp.Or(o.Namespace, o.Manager.LeaderElectionNamespace, "kube8-operator-system")
}

// basesNamespace returns where the bases are.
func (o *Options) basesNamespace() string { return cmp.Or(o.BasesNamespace, o.namespace()) }

// rolloutBudget returns how many Collectors may be on their way at once, and how many of them in any case.
func (o *Options) rolloutBudget() (budget intstr.IntOrString, least int, err error) {
	if o.RolloutBudget == "" {
		return rollout.DefaultBudget, rollout.DefaultLeast, nil
	}
	budget = intstr.Parse(o.RolloutBudget)
	if scaled, err := intstr.GetScaledValueFromIntOrPercent(&budget, 100, false); err != nil || scaled < 0 {
		return budget, 0, fmt.Errorf("--rollout-budget: %q is neither a number nor a percentage", o.RolloutBudget)
	}
	return budget, 1, nil
}

// checkTimes returns an error if no ring would wait for another one, because of how long Collectors may take or lower rings must be done.
// It is an error, too, if nothing is looked at again.
func (o *Options) checkTimes() error {
	switch {
	case o.ReconcilePeriod < 0:
		return fmt.Errorf("--reconcile-period: %s is less than no time; set it to 0 or more, such as 1h", o.ReconcilePeriod)
	case o.RolloutDeadline <= 0:
		return fmt.Errorf("--rollout-deadline: %s leaves no time to become ready; set it to more than 0, such as 10m", o.RolloutDeadline)
	case o.RolloutSoak < 0:
		return fmt.Errorf("--rollout-soak: %s is less than no time; set it to 0 or more, such as 1h", o.RolloutSoak)
	}
	return nil
}
