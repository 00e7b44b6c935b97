package v1alpha1

// Flow has the operator read the metrics that the pods have of themselves, and
// say in the condition DataFlowing whether telemetry comes in and goes out. An
// OpenTelemetry Collector shows its metrics on localhost alone unless
// service.telemetry.metrics in its configuration names another address.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.profile) && has(self.metrics))",message="flow: set profile or metrics, not both"
type Flow struct {
	// Port of the metrics in the pod. The default is that of the port named
	// metrics.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// Path of the metrics. The default is /metrics or, with the profile FluentBit,
	// /api/v2/metrics/prometheus.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^/[-A-Za-z0-9_./?=&]*$`
	// +kubebuilder:validation:XValidation:rule="!self.contains('..')",message="flow.path: must not have .., which leads elsewhere"
	Path string `json:"path,omitempty"`

	// Profile says whose metrics they are. The default follows from
	// collector.name: a name without a registry is that of a distribution of
	// OpenTelemetry, unless it says otherwise.
	// +optional
	// +kubebuilder:validation:Enum=OpenTelemetry;Alloy;FluentBit;Vector;Telegraf;Prometheus;VMAgent
	Profile FlowProfile `json:"profile,omitempty"`

	// Metrics names the metrics of a collector that no profile is for.
	// +optional
	Metrics *FlowMetrics `json:"metrics,omitempty"`
}

// FlowProfile says which metrics of a vendor's collector count what.
type FlowProfile string

// The profiles.
const (
	FlowOpenTelemetry FlowProfile = "OpenTelemetry"
	FlowAlloy         FlowProfile = "Alloy"
	FlowFluentBit     FlowProfile = "FluentBit"
	FlowVector        FlowProfile = "Vector"
	FlowTelegraf      FlowProfile = "Telegraf"
	FlowPrometheus    FlowProfile = "Prometheus"
	FlowVMAgent       FlowProfile = "VMAgent"
)

// FlowMetrics names metrics by what they count. All series of a name are summed
// up. A name stands also for itself with _total. Labels limit it to series that
// have them, or with != to those that do not: name{kind="sink",type!="self"}.
type FlowMetrics struct {
	// Received counts what comes in.
	// +required
	Received FlowMetricNames `json:"received"`

	// Sent counts what goes out.
	// +required
	Sent FlowMetricNames `json:"sent"`

	// Failed counts attempts to send that failed, also if they are tried again.
	// +optional
	Failed FlowMetricNames `json:"failed,omitempty"`

	// Dropped counts what is lost.
	// +optional
	Dropped FlowMetricNames `json:"dropped,omitempty"`

	// Refused counts what the collector does not take.
	// +optional
	Refused FlowMetricNames `json:"refused,omitempty"`

	// Queued is how much waits to be sent.
	// +optional
	Queued FlowMetricNames `json:"queued,omitempty"`

	// Capacity is how much can wait.
	// +optional
	Capacity FlowMetricNames `json:"capacity,omitempty"`
}

// FlowMetricNames are names of metrics, each with at most 4 labels.
//
// +listType=set
// +kubebuilder:validation:MinItems=1
// +kubebuilder:validation:MaxItems=8
// +kubebuilder:validation:items:MinLength=1
// +kubebuilder:validation:items:MaxLength=200
// +kubebuilder:validation:items:Pattern=`^[A-Za-z_:][A-Za-z0-9_:]*([{][A-Za-z_][A-Za-z0-9_]*!?="[^"\\,{}]*"(,[A-Za-z_][A-Za-z0-9_]*!?="[^"\\,{}]*"){0,3}[}])?$`
type FlowMetricNames []string

// DataFlowing is the type of the condition that says whether telemetry comes in
// and goes out. A Collector without spec.flow has no such condition.
const DataFlowing = "DataFlowing"

// The reasons of the condition DataFlowing.
const (
	// ReasonFlowing: data goes out.
	ReasonFlowing = "Flowing"

	// ReasonQueueFilling: data goes out, and the queue is nearly full.
	ReasonQueueFilling = "QueueFilling"

	// ReasonAllDropped: data comes in, and none goes out.
	ReasonAllDropped = "AllDropped"

	// ReasonExportFails: nothing is sent, because each attempt fails.
	ReasonExportFails = "ExportFails"

	// ReasonPartlyDropped: more than 1 % is lost, or some pods send nothing.
	ReasonPartlyDropped = "PartlyDropped"

	// ReasonRefusing: the collector refuses more than it takes.
	ReasonRefusing = "Refusing"

	// ReasonNoTraffic: nothing comes in, and nothing goes out.
	ReasonNoTraffic = "NoTraffic"

	// ReasonUnreachable: no pod answers.
	ReasonUnreachable = "Unreachable"

	// ReasonNoMetrics: pods answer, and not with metrics that the profile knows.
	ReasonNoMetrics = "NoMetrics"
)
