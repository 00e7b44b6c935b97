package integration

import (
	"encoding/base64"
	"strings"
)

const (
	notBase64 = "not base64, or base64 with spaces or cut off; encode the file with `base64 -w0`"
	fileNames = "a file name has letters, digits, '-', '_' and '.', and does not start with '..'; '/' is between the names of a folder and of a file in it"
	belongs   = "keys below helm.sh/ and kube8.dev/ belong to Helm and to the operator; remove them"
)

// forbidden is how the API server says a reason without the value that it is about. render leaves the word out.
func forbidden(name, patch, field, reason string) manifestRow {
	return manifestRow{name: name, patch: patch, refusal: field + ": Forbidden: " + reason, offline: field + ": " + reason}
}

// invalid is how the API server says a reason with the value that it is about, which render leaves out.
func invalid(name, patch, field, value, reason string) manifestRow {
	if value != "" {
		value += ": "
	}
	return manifestRow{
		name: name, patch: patch, refusal: field + ": Invalid value: " + value + reason, offline: field + ": Invalid value: " + reason,
	}
}

// notAnAmount is why the schema refuses an amount.
func notAnAmount(field string) string {
	return field + ` in body should match '^[+-]?([0-9]{1,32}(\.[0-9]{0,32})?|\.[0-9]{1,32})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$'`
}

// configured is a patch with a configuration, as it stands in JSON.
func configured(text string) string { return `{spec: {collector: {configuration: "` + text + `"}}}` }

// withText is a patch with a configuration as text, as it stands in JSON.
func withText(text string) string {
	return `{spec: {collector: {configuration: null, configurationText: "` + text + `"}}}`
}

// malformed is what people got wrong, each with the whole reason that they are given.
var malformed = []manifestRow{
	forbidden("an empty configuration", configured(""), "spec.collector.configuration",
		"empty; leave the field out, or set it to the file, encoded with `base64 -w0`"),
	forbidden("YAML in place of base64", configured("exporters: hunter2-is-my-password"), "spec.collector.configuration", notBase64),
	forbidden("base64 with spaces, of a folded block", configured("ZXhwb3J0 ZXJzOiB7fQo="), "spec.collector.configuration", notBase64),
	forbidden("base64 that was cut off", configured("ZXhwb3J0ZXJzOiB7fQ"), "spec.collector.configuration", notBase64),
	forbidden("base64 with too much padding", configured("===="), "spec.collector.configuration", notBase64),
	forbidden("URL-safe base64", configured("YTogYmM_Cg=="), "spec.collector.configuration",
		"URL-safe base64; encode the file with `base64 -w0`, which writes + and / for - and _"),
	forbidden("a configuration of one byte too many", configured(encoded(256<<10+1)), "spec.collector.configuration",
		"more than 262144 bytes when decoded; shorten it"),
	{name: "a configuration far too long", patch: configured(encoded(300 << 10)),
		refusal: "spec.collector.configuration: Too long: may not be more than 368640 bytes"},
	{name: "a configuration as text", patch: `{spec: {collector: {configuration: null, configurationText: "exporters: {}\n"}}}`},
	invalid("a configuration as text and in base64", `{spec: {collector: {configurationText: "exporters: {}\n"}}}`,
		"spec.collector", "", "set one of configuration, configurationText and configurationSecret"),
	forbidden("no text", withText(""), "spec.collector.configurationText", "empty; leave the field out, or set it to the content of the file"),
	forbidden("a text of too many bytes", withText(strings.Repeat("é", 128<<10+1)), "spec.collector.configurationText",
		"more than 262144 bytes; shorten it"),
	{name: "a text far too long", patch: withText(strings.Repeat("x", 256<<10+1)),
		refusal: "spec.collector.configurationText: Too long: may not be more than 262144 bytes"},
	{name: "base64 as text", patch: withText("ZXhwb3J0ZXJzOiB7fQo="),
		offline: "spec.collector.configurationText: base64; set configuration to it instead, or set format to raw"},
	{name: "text that is not YAML", patch: withText(`a: 1\na: hunter2-is-my-password\n`),
		offline: "spec.collector.configurationText: duplicate key near line 2; remove it, or set format to raw if the file is not YAML"},
	{name: "more lists in a list than 64", patch: `{spec: {extraVolumes: [` + strings.Repeat("{name: a}, ", 65) + `]}}`,
		refusal: "spec.extraVolumes: Too many: 65: must have at most 64 items",
		offline: "spec.extraVolumes: Too many: must have at most 64 items"},
	{name: "base64 with line breaks", patch: configured(`ZXhwb3J0\nZXJz\r\nOiB7fQo=\n`)},
	{name: "base64 of base64", patch: configured(base64.StdEncoding.EncodeToString([]byte("ZXhwb3J0ZXJzOiB7fQo="))),
		offline: "spec.collector.configuration: base64 once more when decoded; encode the file once"},
	forbidden("a file that is not base64", `{spec: {collector: {files: {parsers.conf: "[PARSER]"}}}}`, "spec.collector.files[parsers.conf]", notBase64),
	invalid("files that are too large together", `{spec: {collector: {files: {a: `+encoded(200<<10)+`, b: `+encoded(200<<10)+`}}}}`,
		"spec.collector.files", "", "more than 262144 bytes together when decoded; shorten them"),
	invalid("a file with the name of the configuration's", `{spec: {collector: {files: {config.yaml: e30=}}}}`,
		"spec.collector.files", "", "has the name of the configuration's own file; rename it, or set fileName"),
	invalid("a file outside of the folder", `{spec: {collector: {files: {../passwd: e30=}}}}`,
		"spec.collector.files", "", fileNames),
	// fluent/fluentd-kubernetes-daemonset#1334, kubernetes/community#818, and Datadog's conf.d/NAME.d/conf.yaml
	{name: "files in folders", patch: `{spec: {collector: {files: {conf.d/http.conf: e30=, conf.d/http.d/conf.yaml: e30=, a..b: e30=, .a/.b: e30=}}}}`},
	invalid("an absolute path", `{spec: {collector: {files: {/etc/passwd: e30=}}}}`, "spec.collector.files", "", fileNames),
	invalid("a path that leaves the folder", `{spec: {collector: {files: {a/../../b: e30=}}}}`, "spec.collector.files", "", fileNames),
	invalid("a path with the folder itself", `{spec: {collector: {files: {a/./b: e30=}}}}`, "spec.collector.files", "", fileNames),
	invalid("a path with an empty name", `{spec: {collector: {files: {a//b: e30=}}}}`, "spec.collector.files", "", fileNames),
	invalid("a path that ends in a folder", `{spec: {collector: {files: {a/: e30=}}}}`, "spec.collector.files", "", fileNames),
	invalid("a path that is too long", `{spec: {collector: {files: {"`+strings.Repeat("a/", 90)+`a": e30=}}}}`, "spec.collector.files", "", fileNames),
	invalid("a file that is a folder", `{spec: {collector: {files: {conf.d: e30=, conf.d/a: e30=}}}}`,
		"spec.collector.files", "", "has a file with the name of another one's folder; rename one of them"),
	invalid("a folder with the name of the configuration's file", `{spec: {collector: {files: {config.yaml/a: e30=}}}}`,
		"spec.collector.files", "", "has a file with the name of another one's folder; rename one of them"),
	invalid("two files of one key", `{spec: {collector: {files: {a/b: e30=, a..b: e30=}}}}`,
		"spec.collector.files", "", "has '..' in a name where another one has '/'; rename the file"),
	invalid("a file of the key of the configuration", `{spec: {collector: {fileName: a..b, files: {a/b: e30=}}}}`,
		"spec.collector.files", "", "has '..' in a name where another one has '/'; rename the file"),
	invalid("a configuration outside of the folder", `{spec: {collector: {fileName: a/b}}}`,
		"spec.collector.fileName", `"a/b"`, "a file name has letters, digits, '-', '_' and '.', and does not start with '..'"),

	invalid("a repository with a scheme", `{spec: {image: {repository: "https://ghcr.io/acme/collector"}}}`,
		"spec.image.repository", `"https://ghcr.io/acme/collector"`, "an image has no scheme; remove https://"),
	invalid("a repository with a space", `{spec: {image: {repository: "ghcr.io/acme collector"}}}`,
		"spec.image.repository", `"ghcr.io/acme collector"`, "has white space; remove it"),
	invalid("a repository with upper case", `{spec: {image: {repository: ghcr.io/Acme/collector}}}`,
		"spec.image.repository", `"ghcr.io/Acme/collector"`, "has upper case; an image repository is lower case"),
	invalid("a repository with a tag", `{spec: {image: {repository: "grafana/alloy:v1.0"}}}`,
		"spec.image.repository", `"grafana/alloy:v1.0"`, "has a tag; it belongs in collector.version or image.tag"),
	invalid("a repository with a digest", `{spec: {image: {repository: "grafana/alloy@sha256:00"}}}`,
		"spec.image.repository", `"grafana/alloy@sha256:00"`, "has a digest; it belongs in image.digest"),
	invalid("a repository that ends in a slash", `{spec: {image: {repository: grafana/}}}`, "spec.image.repository", `"grafana/"`,
		"not an image repository, such as grafana/alloy or registry.example.com:5000/team/collector"),
	invalid("a name with a tag", `{spec: {collector: {name: "grafana/alloy:v1.0"}}}`,
		"spec.collector.name", `"grafana/alloy:v1.0"`, "has a tag; it belongs in collector.version or image.tag"),
	invalid("a name with upper case", `{spec: {collector: {name: Alloy}}}`,
		"spec.collector.name", `"Alloy"`, "has upper case; an image repository is lower case"),
	invalid("a registry with a scheme", `{spec: {image: {registry: "http://mirror.example.com"}}}`,
		"spec.image.registry", `"http://mirror.example.com"`, "an image has no scheme; remove http://"),
	invalid("a registry with a tag", `{spec: {image: {registry: "mirror.example.com/otel:v1"}}}`, "spec.image.registry",
		`"mirror.example.com/otel:v1"`, "not an image registry, such as registry.example.com:5000/mirror"),
	{name: "a registry with a port, and a slash at its end", patch: `{spec: {image: {registry: "localhost:5000/"}}}`},
	invalid("a digest of the wrong length", `{spec: {image: {digest: "sha256:0123456789abcdef0123456789abcdef"}}}`, "spec.image.digest",
		`"sha256:0123456789abcdef0123456789abcdef"`, "a digest is sha256: and 64 hexadecimal digits in lower case, or sha512: and 128 of them"),
	invalid("a digest without its algorithm", `{spec: {image: {digest: "`+strings.Repeat("0", 64)+`"}}}`, "spec.image.digest",
		`"`+strings.Repeat("0", 64)+`"`, "a digest is sha256: and 64 hexadecimal digits in lower case, or sha512: and 128 of them"),

	invalid("a request above its limit", `{spec: {resources: {requests: {cpu: 2}, limits: {cpu: 1500m}}}}`,
		"spec.resources", "", "a request must not be above its limit; lower the request, or raise the limit"),
	invalid("memory in thousandths of bytes", `{spec: {resources: {limits: {memory: 512m}}}}`,
		"spec.resources", "", "memory of less than 1Mi: m means thousandths, and no unit means bytes; write Mi, as in 512Mi"),
	invalid("memory in bytes", `{spec: {resources: {requests: {memory: 512}}}}`,
		"spec.resources", "", "memory of less than 1Mi: m means thousandths, and no unit means bytes; write Mi, as in 512Mi"),
	invalid("an amount that takes a minute to compare", `{spec: {resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {cpu: "1e100000000", memory: 512Mi}}}}`,
		"spec.resources.limits.cpu", `"1e100000000"`, notAnAmount("spec.resources.limits.cpu")),
	invalid("a claim of such an amount", `
spec:
	mode: statefulset
	volumeClaimTemplates: [{metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: "1e100000000"}}}}]`,
		"spec.volumeClaimTemplates[0].spec.resources.requests.storage", `"1e100000000"`,
		notAnAmount("spec.volumeClaimTemplates[0].spec.resources.requests.storage")),
	{name: "no memory at all", patch: `{spec: {resources: {requests: {cpu: 1, memory: 0}, limits: {cpu: "1"}}}}`},
	invalid("an autoscaler of pods without a CPU request",
		`{spec: {autoscaling: {enabled: true, maxReplicas: 2}, resources: {limits: {memory: 1Gi}}}}`, "spec", "",
		"autoscaling: it aims at a percentage of the CPU request, and the pods have none; set resources.requests.cpu, or only "+
			"targetMemoryUtilizationPercentage"),
	invalid("an autoscaler of pods without a memory request",
		`{spec: {autoscaling: {enabled: true, maxReplicas: 2, targetMemoryUtilizationPercentage: 80}, resources: {requests: {cpu: 1}}}}`,
		"spec", "", "autoscaling: it aims at a percentage of the memory request, and the pods have none; set resources.requests.memory"),
	{name: "an autoscaler by memory alone",
		patch: `{spec: {autoscaling: {enabled: true, maxReplicas: 2, targetMemoryUtilizationPercentage: 80}, resources: {limits: {memory: 1Gi}}}}`},

	invalid("a probe with two handlers", `{spec: {readinessProbe: {httpGet: {port: 1}, tcpSocket: {port: 1}}}}`,
		"spec.readinessProbe", "", "a probe has one handler: exec, grpc, httpGet or tcpSocket; remove the others"),
	invalid("an unknown toleration operator", `{spec: {tolerations: [{key: a}, {key: b, operator: exists}]}}`,
		"spec.tolerations[1]", "", "operator: Exists or Equal (the default); Lt and Gt only where the cluster has them"),
	invalid("a mount over the configuration", `{spec: {extraVolumeMounts: [{name: a, mountPath: /etc/collector}]}}`,
		"spec.extraVolumeMounts[0]", "", "mountPath: /etc/collector is for the configuration; add a file there by collector.files, or mount elsewhere"),
	invalid("a mount below the configuration", `{spec: {extraVolumeMounts: [{name: a, mountPath: /etc/collector/a}]}}`,
		"spec.extraVolumeMounts[0]", "", "mountPath: /etc/collector is for the configuration; add a file there by collector.files, or mount elsewhere"),
	invalid("a claim without a size", claim(`{name: queue}`, `{accessModes: [ReadWriteOnce]}`),
		"spec.volumeClaimTemplates[0].spec.resources", "", "a claim needs a size; set requests.storage"),
	invalid("a claim without an access mode", claim(`{name: queue}`, `{resources: {requests: {storage: 1Gi}}}`),
		"spec.volumeClaimTemplates[0].spec.accessModes", "", "a claim needs an access mode, such as ReadWriteOnce"),
	invalid("a claim with an invalid name", claim(`{name: my.queue}`, sized), "spec.volumeClaimTemplates[0].metadata.name", `"my.queue"`,
		"a claim's name has lower-case letters, digits and '-', and starts and ends with a letter or digit"),

	invalid("an invalid label key", `{spec: {podLabels: {"a b": c}}}`, "spec.podLabels", "",
		"a label's key is an optional DNS subdomain and '/', and at most 63 letters, digits, '-', '_' and '.'"),
	invalid("an invalid annotation key", `{spec: {podAnnotations: {a/b/c: d}}}`, "spec.podAnnotations", "",
		"an annotation's key is an optional DNS subdomain and '/', and at most 63 letters, digits, '-', '_' and '.'"),
	invalid("a Helm hook", `{spec: {service: {annotations: {helm.sh/hook: pre-install}}}}`, "spec.service.annotations", "", belongs),
	invalid("a resource that Helm is to keep", `{spec: {serviceAccount: {annotations: {helm.sh/resource-policy: keep}}}}`,
		"spec.serviceAccount.annotations", "", belongs),
	invalid("Helm's annotations of a release", `{spec: {podAnnotations: {meta.helm.sh/release-name: other}}}`, "spec.podAnnotations", "", belongs),
	invalid("the operator's annotation", `{spec: {serviceAccount: {annotations: {kube8.dev/config-sha256: "0"}}}}`,
		"spec.serviceAccount.annotations", "", belongs),
	invalid("Helm's label on pods", `{spec: {podLabels: {helm.sh/chart: a}}}`, "spec.podLabels", "", belongs),
	invalid("Helm's label on a ServiceMonitor", `{spec: {serviceMonitor: {labels: {helm.sh/chart: a}}}}`, "spec.serviceMonitor.labels", "", belongs),
	invalid("Helm's label on a PodMonitor", `{spec: {podMonitor: {labels: {helm.sh/chart: a}}}}`, "spec.podMonitor.labels", "", belongs),
	invalid("Helm's label on a PrometheusRule", `{spec: {prometheusRule: {labels: {helm.sh/chart: a}}}}`, "spec.prometheusRule.labels", "", belongs),
	invalid("Helm's annotation on a claim", claim(`{name: queue, annotations: {helm.sh/hook: pre-install}}`, sized),
		"spec.volumeClaimTemplates[0].metadata.annotations", "", belongs),
}

// sized is what a claim asks for.
const sized = `{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`

// claim is a patch with a claim template.
func claim(metadata, spec string) string {
	return `{spec: {mode: statefulset, volumeClaimTemplates: [{metadata: ` + metadata + `, spec: ` + spec + `}]}}`
}
