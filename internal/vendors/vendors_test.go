package vendors_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/helm-charts/collector/ci"
	"github.com/kube8/kube8-operator/internal/offline"
	"github.com/kube8/kube8-operator/internal/operator"
	"github.com/kube8/kube8-operator/internal/vendors"
)

// warnings returns those of a spec.
func warnings(t *testing.T, renderer *offline.Renderer, spec map[string]any) (found []string) {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"apiVersion": "kube8.dev/v1alpha1", "kind": "Collector", "metadata": map[string]any{"name": "edge", "namespace": "acme"}, "spec": spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	renderer.Warn = func(warning string) { found = append(found, warning) }
	if _, err := renderer.Render(t.Context(), strings.NewReader(string(text))); err != nil {
		t.Fatal(err)
	}
	return found
}

func renderer(t *testing.T) *offline.Renderer {
	t.Helper()
	made, err := offline.New(operator.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestWarnings(t *testing.T) {
	const (
		twice, root, heap = "so its parts run twice", "root file system is read-only", "beside its heap"
		hostPath          = `, extraVolumes: [{name: a, hostPath: {path: /data}}], extraVolumeMounts: [{name: a, mountPath: /data}`
		readHostPath      = `, extraVolumes: [{name: a, hostPath: {path: /data}}], extraVolumeMounts: [{name: a, mountPath: /data, readOnly: true}`
	)
	raw := func(name, more string) string {
		return `{collector: {name: ` + name + `, version: "1", format: raw, configurationText: "a hunter2"}` + more + `}`
	}
	otel := func(text, more string) string {
		return `{collector: {name: opentelemetry-collector, version: 0.160.0, configurationText: ` + text + `}` + more + `}`
	}
	utf16 := base64.StdEncoding.EncodeToString([]byte("\xff\xfea\x00"))
	all := renderer(t)
	for name, row := range map[string]struct{ spec, want string }{
		// influxdata/telegraf#4133, #12826
		"a directory with the file":              {raw("library/telegraf", `, args: [--config, /etc/collector/telegraf.conf, --config-directory, /etc/collector]`), "Collector acme/edge: spec.args: Telegraf reads /etc/collector/telegraf.conf twice"},
		"a directory above the file":             {raw("library/telegraf", `, args: [--config=/etc/collector/telegraf.conf, --config-directory=/etc/]`), twice},
		"a file twice":                           {raw("library/telegraf", `, args: [--config, /etc/collector/a.conf, --config, /etc/collector/./a.conf]`), twice},
		"a directory beside the file":            {raw("library/telegraf", `, args: [--config, /etc/collector/telegraf.conf, --config-directory, /etc/collector/conf.d]`), ""},
		"a directory whose name begins as one":   {raw("library/telegraf", `, args: [--config, /etc/collector/conf.d.conf, --config-directory, /etc/collector/conf.d]`), ""},
		"a directory alone":                      {raw("library/telegraf", `, args: [--config-directory, /etc/collector]`), ""},
		"Vector's directory, in a command":       {raw("timberio/vector", `, command: [vector, -c, /etc/collector/a.toml, -C, /etc/collector], args: [], env: [{name: VECTOR_DATA_DIR, value: /tmp}]`), twice},
		"Vector's directory, in a variable":      {raw("timberio/vector", `, args: [-c, /etc/collector/a.toml], env: [{name: VECTOR_CONFIG_DIR, value: /etc/collector}, {name: VECTOR_DATA_DIR, value: /tmp}]`), twice},
		"the OpenTelemetry Collector's storage":  {otel(`"extensions: {file_storage: {}}"`, ""), "writes to /var/lib/otelcol/file_storage"},
		"its storage in another directory":       {otel(`"extensions: {file_storage: {directory: /a}}"`, ""), ""},
		"a GOMEMLIMIT that is the limit":         {otel(`"a: b"`, `, resources: {limits: {memory: 1Gi}}, env: [{name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory}}}]`), "spec.env: GOMEMLIMIT is the whole memory limit of 1Gi"},
		"a GOMEMLIMIT in units of Mi":            {otel(`"a: b"`, `, resources: {limits: {memory: 1Gi}}, env: [{name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}]`), "takes it for bytes"},
		"a GOMEMLIMIT of a ConfigMap":            {otel(`"a: b"`, `, env: [{name: GOMEMLIMIT, valueFrom: {configMapKeyRef: {name: a, key: b}}}]`), ""},
		"Fluentd without a volume":               {raw("fluent/fluentd", ""), "Fluentd writes to /fluentd/log"}, // kube-logging/logging-operator#1517
		"Fluentd with a volume":                  {raw("fluent/fluentd", `, extraVolumes: [{name: a, emptyDir: {}}], extraVolumeMounts: [{name: a, mountPath: /fluentd}]`), ""},
		"Fluentd with a volume that is read":     {raw("fluent/fluentd", `, extraVolumes: [{name: a, emptyDir: {}}], extraVolumeMounts: [{name: a, mountPath: /fluentd/log, readOnly: true}]`), root},
		"a root that is not read-only":           {raw("fluent/fluentd", `, securityContext: {readOnlyRootFilesystem: false}`), ""},
		"Datadog's agent":                        {raw("gcr.io/datadoghq/agent", ""), root}, // DataDog/datadog-agent#15127
		"Filebeat":                               {raw("elastic/filebeat", ""), root},       // elastic/cloud-on-k8s#8605
		"Alloy":                                  {raw("grafana/alloy", ""), root},          // grafana/alloy#552
		"Alloy that is told another directory":   {raw("grafana/alloy", `, args: [run, --storage.path=/tmp]`), ""},
		"Vector that is told another directory":  {`{collector: {name: timberio/vector, version: "1", configurationText: "data_dir: /tmp"}}`, ""},
		"a mirror of a vendor's image":           {raw("a/b", `, image: {repository: "mirror.example.com:5000/grafana/alloy", tag: v1}`), root},
		"an image that is not known":             {raw("a/b", ""), ""},
		"a limit of 48Mi":                        {otel(`"a: b"`, `, resources: {limits: {memory: 48Mi}}`), "spec.resources.limits.memory: GOMEMLIMIT is 38 MiB under a limit of 48Mi"},
		"a GOMEMLIMIT of the owner":              {otel(`"a: b"`, `, resources: {limits: {memory: 48Mi}}, env: [{name: GOMEMLIMIT, value: 40MiB}]`), "GOMEMLIMIT is 40 MiB under a limit of 48Mi"},
		"a GOMEMLIMIT above the limit":           {otel(`"a: b"`, `, resources: {limits: {memory: 1Gi}}, env: [{name: GOMEMLIMIT, value: 2GiB}]`), heap},
		"a GOMEMLIMIT that is off":               {otel(`"a: b"`, `, resources: {limits: {memory: 1Gi}}, env: [{name: GOMEMLIMIT, value: "off"}]`), ""},
		"a GOMEMLIMIT in the unit of Kubernetes": {otel(`"a: b"`, `, env: [{name: GOMEMLIMIT, value: 400Mi}]`), "spec.env: an OpenTelemetry Collector does not start with this GOMEMLIMIT"}, // open-telemetry/opentelemetry-helm-charts#912
		"a GOMEMLIMIT in a decimal unit":         {otel(`"a: b"`, `, resources: {}, env: [{name: GOMEMLIMIT, value: 1G}]`), "does not start with this GOMEMLIMIT"},                          // haproxytech/dataplaneapi#350
		"a GOMEMLIMIT in bytes":                  {otel(`"a: b"`, `, env: [{name: GOMEMLIMIT, value: "400000000"}]`), ""},
		"a GOMEMLIMIT of another variable":       {otel(`"a: b"`, `, env: [{name: A, value: 400MiB}, {name: GOMEMLIMIT, value: $(A)}]`), ""},
		"a GOMEMLIMIT for a program in C":        {raw("fluent/fluent-bit", `, env: [{name: GOMEMLIMIT, value: 400Mi}]`), ""},
		"a distribution's whole name":            {raw("otel/opentelemetry-collector-contrib", `, resources: {limits: {memory: 48Mi}}`), heap},
		"another distribution's whole name":      {raw("quay.io/signalfx/splunk-otel-collector", `, resources: {limits: {memory: 48Mi}}`), heap},
		"Metricbeat":                             {raw("docker.elastic.co/beats/metricbeat", ""), "Metricbeat writes to /usr/share/metricbeat/data"},
		"Fluentd of logging-operator":            {raw("ghcr.io/kube-logging/fluentd", ""), root},
		"a host path that a sidecar writes":      {raw("a/b", `, extraVolumes: [{name: a, hostPath: {path: /data}}], extraContainers: [{name: x, image: x, volumeMounts: [{name: a, mountPath: /d}]}], updateStrategy: {type: RollingUpdate}`), "can write to /data"},
		"a directory in a variable":              {raw("library/telegraf", `, args: [--config, $(DIR)/telegraf.conf, --config-directory, $(DIR)], env: [{name: DIR, value: /etc/collector}]`), twice},
		"enough memory":                          {otel(`"a: b"`, `, resources: {limits: {memory: 128Mi}}`), ""},
		"no limit":                               {otel(`"a: b"`, `, resources: {requests: {memory: 48Mi}}`), ""},
		"a limit of 48Mi for a program in C":     {raw("fluent/fluent-bit", `, resources: {limits: {memory: 48Mi}}`), ""},
		"UTF-16":                                 {`{collector: {name: a/b, version: "1", format: raw, configuration: ` + utf16 + `}}`, "is UTF-16"},                                                         // influxdata/telegraf#1378
		"a directive that Go's parser refuses":   {otel(`"%YAML 1.2\n---\na: hunter2\n"`, ""), "refuses the directive %YAML"},                                                                                // yaml/go-yaml#85
		"pods that write one folder at once":     {raw("a/b", hostPath+`], updateStrategy: {type: RollingUpdate}`), "spec.updateStrategy: old and new pods run at once, and can write to /data of one node"}, // VictoriaMetrics/VictoriaMetrics#1146
		"one after the other, by default":        {raw("a/b", hostPath+"]"), ""},
		"one after the other, without surge":     {raw("a/b", hostPath+`], updateStrategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}`), ""},
		"pods that read one folder":              {raw("a/b", readHostPath+`], updateStrategy: {type: RollingUpdate}`), ""},
		"a directive that it reads":              {otel(`"%YAML 1.1\n---\na: hunter2\n"`, ""), ""},
		"a directive for a parser that reads it": {`{collector: {name: fluent/fluent-bit, version: "1", configurationText: "%YAML 1.2\n---\na: hunter2\n"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec := map[string]any{}
			if err := yaml.UnmarshalStrict([]byte(row.spec), &spec); err != nil {
				t.Fatal(err)
			}
			spec["tenant"], spec["cluster"] = map[string]any{"id": "1042", "reference": "acme"}, "prod"
			got := strings.Join(warnings(t, all, spec), "\n")
			if row.want == "" && got != "" || !strings.Contains(got, row.want) || strings.Contains(got, "hunter2") || strings.Contains(got, "\n") {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// The cases of the vendors' own documents have what their collectors need.
func TestTheVendorsOwnSetupsHaveNoWarning(t *testing.T) {
	cases, err := ci.Cases("../../helm-charts/collector/ci")
	if err != nil {
		t.Fatal(err)
	}
	all := renderer(t)
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		if _, isBased := cases[name]["bases"]; isBased {
			continue // the operator adds them
		}
		if found := warnings(t, all, cases[name]); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestALogIsReadForWhatIsKnown(t *testing.T) {
	for text, want := range map[string]string{
		// fluent/fluent-bit#7308, elastic/cloud-on-k8s#8605, kube-logging/logging-operator#1517, DataDog/dd-trace-java#429
		"open /usr/share/filebeat/logs/hunter2: read-only file system": "read-only file system: Filebeat writes to /usr/share/filebeat/data, unless it is told another directory",
		"a\njava.io.IOException: Read-only file system\n":              "read-only file system: Filebeat",
		"EROFS: hunter2": "read-only file system: Filebeat",
		"error=\"could not find a temporary directory\" hunter2": "read-only file system: Filebeat",
		"EROFSX, a file system that is read":                     "",
		// prometheus/prometheus#4761, VictoriaMetrics/VictoriaMetrics#1146, elastic/cloud-on-k8s#3485
		"opening storage failed: lock DB directory: resource temporarily unavailable hunter2":  "a folder of the collector is locked by another process",
		"cannot acquire lock on file \"hunter2/flock.lock\": resource temporarily unavailable": "a folder of the collector is locked",
		"Exiting: data path already locked by another beat. hunter2":                           "a folder of the collector is locked",
		"fork: resource temporarily unavailable":                                               "",
		"":                                                                                     "",
	} {
		got := vendors.InLog("docker.elastic.co/beats/filebeat:9.4.2", text)
		if !strings.HasPrefix(got, want) || want == "" && got != "" || strings.Contains(got, "hunter2") {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := vendors.InLog("a/b", "Read-only file system"); got != "read-only file system" {
		t.Errorf("got %q", got)
	}
}

// A text of a Collector that is wrong in every field is no reason to end.
func TestNothingIsRequiredOfAnObject(t *testing.T) {
	for _, text := range []string{`{}`, `{spec: {template: {spec: {containers: [{name: other}]}}}}`, `{spec: {template: []}}`} {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			t.Fatal(err)
		}
		if found := vendors.Warnings(object, []*unstructured.Unstructured{object}); len(found) > 0 {
			t.Errorf("%s: %v", text, found)
		}
	}
}
