package flow

import (
	"path"
	"slices"
	"strings"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// profile says which metrics of a vendor's collector count what. A name stands also for itself with _total. It can have labels that a
// series must have, or must not have. A name after a minus is subtracted.
type profile struct {
	path   string
	prefix string // that only this vendor's pages have: a collector that has done nothing yet shows none of the names
	names  [roles][]string
}

// profiles are by the collectors that they are for. testdata has a page of each.
var profiles = map[v1alpha1.FlowProfile]profile{
	// https://opentelemetry.io/docs/collector/internal-telemetry/. Without a queue, data that an exporter cannot send is refused, too.
	v1alpha1.FlowOpenTelemetry: {prefix: "otelcol_", names: otelNames},

	// https://grafana.com/docs/alloy/latest/reference/components/: otelcol.*, prometheus.remote_write and loki.write, "Debug metrics".
	v1alpha1.FlowAlloy: {prefix: "alloy_", names: join(otelNames, remoteWriteNames, [roles][]string{
		received: {"prometheus_remote_write_wal_samples_appended", "loki_source_file_read_lines", "loki_source_journal_target_lines",
			"loki_source_syslog_entries", "loki_source_api_entries_written", "loki_source_docker_target_entries"},
		sent:    {"loki_write_sent_entries"},
		failed:  {"loki_write_batch_retries"},
		dropped: {"loki_write_dropped_entries"},
	})},

	// https://docs.fluentbit.io/manual/administration/monitoring, "Metrics". Errors and retries are of chunks.
	v1alpha1.FlowFluentBit: {path: "/api/v2/metrics/prometheus", prefix: "fluentbit_", names: [roles][]string{
		received: {"fluentbit_input_records"},
		sent:     {"fluentbit_output_proc_records"},
		failed:   {"fluentbit_output_errors", "fluentbit_output_retries"},
		dropped:  {"fluentbit_output_dropped_records"},
	}},

	// https://vector.dev/docs/reference/configuration/sources/internal_metrics/. The page itself comes by a source and a sink. Version 0.53
	// renamed the levels of buffers, and shows both names for a time. Their ratio is the same then.
	v1alpha1.FlowVector: {prefix: "vector_", names: [roles][]string{
		received: {`vector_component_received_events{component_kind="source",component_type!="internal_metrics"}`},
		sent:     {`vector_component_sent_events{component_kind="sink",component_type!="prometheus_exporter"}`},
		failed:   {`vector_component_errors{component_kind="sink"}`},
		dropped:  {`vector_component_discarded_events{intentional="false"}`, `vector_buffer_discarded_events{intentional="false"}`},
		queued: {`vector_buffer_events{component_type!="prometheus_exporter"}`,
			`vector_buffer_size_events{component_type!="prometheus_exporter"}`},
		capacity: {`vector_buffer_max_event_size{component_type!="prometheus_exporter"}`,
			`vector_buffer_max_size_events{component_type!="prometheus_exporter"}`},
	}},

	// https://docs.influxdata.com/telegraf/v1/input-plugins/internal/. The page itself comes by an input and an output.
	v1alpha1.FlowTelegraf: {prefix: "internal_", names: [roles][]string{
		received: {`internal_gather_metrics_gathered{input!="internal"}`},
		sent:     {`internal_write_metrics_written{output!="prometheus_client"}`},
		failed:   {`internal_write_errors{output!="prometheus_client"}`},
		dropped:  {`internal_write_metrics_dropped{output!="prometheus_client"}`, `internal_write_metrics_rejected{output!="prometheus_client"}`},
		queued:   {`internal_write_buffer_size{output!="prometheus_client"}`},
		capacity: {`internal_write_buffer_limit{output!="prometheus_client"}`},
	}},

	// https://github.com/prometheus/prometheus/blob/main/storage/remote/queue_manager.go, and tsdb/agent/db.go.
	v1alpha1.FlowPrometheus: {prefix: "prometheus_", names: join(remoteWriteNames, [roles][]string{
		received: {"prometheus_agent_samples_appended", "prometheus_tsdb_head_samples_appended"},
	})},

	// https://docs.victoriametrics.com/victoriametrics/vmagent/#monitoring, and app/vmagent/remotewrite/client.go. A block has many rows.
	v1alpha1.FlowVMAgent: {prefix: "vmagent_", names: [roles][]string{
		received: {"vmagent_rows_inserted", "vm_promscrape_scraped_samples_sum"},
		sent:     {"vmagent_remotewrite_blocks_sent"},
		failed:   {"vmagent_remotewrite_retries_count", "vmagent_remotewrite_errors"},
		dropped:  {"vmagent_remotewrite_packets_dropped", "vm_persistentqueue_blocks_dropped", "vmagent_remotewrite_samples_dropped"},
		queued:   {"vmagent_remotewrite_pending_data_bytes"},
	}},
}

// otelNames are those of the OpenTelemetry Collector.
var otelNames = [roles][]string{
	received: ofSignals("otelcol_receiver_accepted_"),
	sent:     ofSignals("otelcol_exporter_sent_"),
	failed:   ofSignals("otelcol_exporter_send_failed_"),
	dropped: slices.Concat(ofSignals("otelcol_exporter_send_failed_"), ofSignals("otelcol_exporter_enqueue_failed_"),
		ofSignals("otelcol_processor_dropped_")),
	refused:  slices.Concat(ofSignals("otelcol_receiver_refused_"), ofSignals("otelcol_receiver_failed_")),
	queued:   {"otelcol_exporter_queue_size"},
	capacity: {"otelcol_exporter_queue_capacity"},
}

// remoteWriteNames are those of Prometheus' remote write. It counts each attempt as sent.
var remoteWriteNames = [roles][]string{
	sent:    {"prometheus_remote_storage_samples", "-prometheus_remote_storage_samples_retried", "-prometheus_remote_storage_samples_failed"},
	failed:  {"prometheus_remote_storage_samples_retried", "prometheus_remote_storage_samples_failed"},
	dropped: {"prometheus_remote_storage_samples_failed", `prometheus_remote_storage_samples_dropped{reason="too_old"}`},
	queued:  {"prometheus_remote_storage_samples_pending"},
}

// readers are those of the profiles.
var readers = func() map[v1alpha1.FlowProfile]*reader {
	made := map[v1alpha1.FlowProfile]*reader{}
	for name, profile := range profiles {
		made[name] = newReader(profile)
	}
	return made
}()

// ofSignals returns the names of a metric of the OpenTelemetry Collector for all signals.
func ofSignals(prefix string) []string {
	return []string{prefix + "spans", prefix + "metric_points", prefix + "log_records", prefix + "profile_samples"}
}

func join(all ...[roles][]string) (joined [roles][]string) {
	for _, names := range all {
		for role := range names {
			joined[role] = append(joined[role], names[role]...)
		}
	}
	return joined
}

// vendors are parts of the names of collectors. The first one that is found counts.
var vendors = []struct {
	part    string
	profile v1alpha1.FlowProfile
}{
	{"opentelemetry", v1alpha1.FlowOpenTelemetry}, {"otel", v1alpha1.FlowOpenTelemetry}, {"alloy", v1alpha1.FlowAlloy},
	{"fluent-bit", v1alpha1.FlowFluentBit}, {"vector", v1alpha1.FlowVector}, {"telegraf", v1alpha1.FlowTelegraf},
	{"prometheus", v1alpha1.FlowPrometheus}, {"vmagent", v1alpha1.FlowVMAgent},
}

// profileOf returns the profile that a Collector names or, without that, the one for a collector of this name. The image's own name says
// more than the path to it, which can be a mirror's. A name without a registry is that of a distribution of OpenTelemetry.
func profileOf(collector string, spec *v1alpha1.Flow) v1alpha1.FlowProfile {
	if spec.Profile != "" {
		return spec.Profile
	}
	for _, name := range []string{path.Base(collector), collector} {
		for _, vendor := range vendors {
			if strings.Contains(name, vendor.part) {
				return vendor.profile
			}
		}
	}
	return v1alpha1.FlowOpenTelemetry
}
