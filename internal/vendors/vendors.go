// Package vendors knows traps of collectors that neither the API server nor the operator refuses: what a vendor's documents or its users
// say. It warns of them. The facts are one table, and the package is pure.
package vendors

import (
	"encoding/base64"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube8/kube8-operator/internal/syntax"
)

// vendor is what is known of a collector.
type vendor struct {
	name  string
	image *regexp.Regexp // of the repository

	// writes is the directory below the root that it needs, unless its arguments, variables or configuration have one of the words of
	// elsewhere.
	writes    string
	elsewhere []string

	// reads and readsAll are the arguments that name a file, and a directory whose files are all read.
	reads, readsAll []string

	isGo bool
}

// known are the collectors of docs/vendors.md about which there is something to warn of.
var known = []vendor{
	{name: "an OpenTelemetry Collector", image: regexp.MustCompile(`^[^/]+$`), isGo: true},
	{
		name: "Alloy", image: regexp.MustCompile(`/alloy$`), isGo: true, // grafana/alloy#552
		writes: "/var/lib/alloy/data", elsewhere: []string{"--storage.path"},
	},
	{
		name: "Telegraf", image: regexp.MustCompile(`(^|/)telegraf$`), isGo: true, // influxdata/telegraf#4133 and #12826
		reads: []string{"--config", "-config"}, readsAll: []string{"--config-directory", "-config-directory"},
	},
	{
		name: "Vector", image: regexp.MustCompile(`/vector$`), // vectordotdev/vector#12042
		reads: []string{"--config", "-c", "--config-yaml", "--config-toml", "--config-json"}, readsAll: []string{"--config-dir", "-C"},
		writes: "/var/lib/vector", elsewhere: []string{"data_dir", "VECTOR_DATA_DIR"},
	},
	{
		name: "Fluentd", image: regexp.MustCompile(`/fluentd[^/]*$`), // kube-logging/logging-operator#1517
		writes: "/fluentd/log", elsewhere: []string{"TMPDIR"},
	},
	{
		name: "Filebeat", image: regexp.MustCompile(`/filebeat[^/]*$`), isGo: true, // elastic/cloud-on-k8s#8605
		writes: "/usr/share/filebeat/data", elsewhere: []string{"path.data"},
	},
	{
		name: "Elastic Agent", image: regexp.MustCompile(`/elastic-agent[^/]*$`), isGo: true, // elastic/elastic-agent#4995
		writes: "/usr/share/elastic-agent/state", elsewhere: []string{"STATE_PATH", "receivers:"},
	},
	{
		name: "Logstash", image: regexp.MustCompile(`/logstash[^/]*$`),
		writes: "/usr/share/logstash/data", elsewhere: []string{"path.data", "PATH_DATA"},
	},
	{
		name: "Datadog's agent", image: regexp.MustCompile(`datadog(hq)?/agent$`), isGo: true, // DataDog/datadog-agent#15127
		writes: "/etc/datadog-agent",
	},
	{
		name: "Prometheus", image: regexp.MustCompile(`/prometheus$`), isGo: true,
		writes: "/prometheus", elsewhere: []string{"storage.agent.path", "storage.tsdb.path"},
	},
	{
		name: "vmagent", image: regexp.MustCompile(`/vmagent$`), isGo: true,
		writes: "/vmagent-remotewrite-data", elsewhere: []string{"remoteWrite.tmpDataPath"},
	},
	{
		name: "syslog-ng", image: regexp.MustCompile(`/(axosyslog|syslog-ng)[^/]*$`),
		writes: "/var/lib/syslog-ng", elsewhere: []string{"--persist-file", "-R"},
	},
}

// Of returns the vendor of an image, which is the whole reference or a Collector's collector.name. It is "" for one that is not known.
func of(image string) vendor {
	image, _, _ = strings.Cut(image, "@")
	if at := strings.LastIndex(image, ":"); at > strings.LastIndex(image, "/") {
		image = image[:at]
	}
	at := slices.IndexFunc(known, func(v vendor) bool { return v.image.MatchString(image) })
	if at < 0 {
		return vendor{name: "the collector"}
	}
	return known[at]
}

// Warnings returns what can go wrong with what a Collector becomes. No warning has a part of a configuration.
func Warnings(collector *unstructured.Unstructured, objects []*unstructured.Unstructured) (found []string) {
	config, _, _ := unstructured.NestedMap(collector.Object, "spec", "collector")
	for _, object := range objects {
		fields, isWorkload, _ := unstructured.NestedMap(object.Object, "spec", "template")
		var pod corev1.PodTemplateSpec
		if object.GetKind() == "Job" || !isWorkload || runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &pod) != nil {
			continue
		}
		at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == "collector" })
		if at < 0 {
			continue
		}
		container, text := &pod.Spec.Containers[at], configuration(config)
		name, _ := config["name"].(string)
		collects := of(container.Image)
		if !strings.Contains(name, "/") && collects.name == "the collector" {
			collects = of(name)
		}
		found = append(found, collects.readsTwice(container)...)
		found = append(found, collects.writesBelowRoot(container, text)...)
		found = append(found, collects.heap(container)...)
		found = append(found, collects.encoding(text)...)
	}
	return found
}

// configuration returns the configuration that a Collector itself has.
func configuration(config map[string]any) string {
	if text, is := config["configurationText"].(string); is {
		return text
	}
	encoded, _ := config["configuration"].(string)
	text, _ := base64.StdEncoding.DecodeString(encoded) // the operator says what is wrong with it
	return string(text)
}

// readsTwice warns of a file that arguments name twice: by its name and its directory, or twice by the same.
func (v vendor) readsTwice(container *corev1.Container) (found []string) {
	arguments := append(slices.Clone(container.Command), container.Args...)
	files, folders := values(arguments, v.reads), values(arguments, v.readsAll)
	for i, file := range files {
		if slices.Contains(files[:i], file) {
			found = append(found, fmt.Sprintf("args: %s reads %s twice, so its parts run twice; name the file once", v.name, file))
		}
		for _, folder := range folders {
			if strings.HasPrefix(file, strings.TrimSuffix(folder, "/")+"/") {
				found = append(found, fmt.Sprintf("args: %s reads %s twice, as a file and in the directory %s, so its parts run twice; leave out %s, "+
					"or name a directory such as /etc/collector/conf.d: collector.files takes conf.d/NAME", v.name, file, folder, v.reads[0]))
			}
		}
	}
	return found
}

// values returns the values of arguments, clean.
func values(arguments, names []string) (found []string) {
	for i, argument := range arguments {
		name, value, is := strings.Cut(argument, "=")
		if !is && i+1 < len(arguments) {
			value = arguments[i+1]
		}
		if slices.Contains(names, name) && value != "" {
			found = append(found, path.Clean(value))
		}
	}
	return found
}

// writesBelowRoot warns of a read-only root without what the vendor writes to.
func (v vendor) writesBelowRoot(container *corev1.Container, text string) []string {
	security := container.SecurityContext
	if v.writes == "" || security == nil || security.ReadOnlyRootFilesystem == nil || !*security.ReadOnlyRootFilesystem {
		return nil
	}
	given := strings.Join(append(slices.Clone(container.Command), container.Args...), " ") + "\n" + text
	for _, variable := range container.Env {
		given += "\n" + variable.Name
	}
	if slices.ContainsFunc(v.elsewhere, func(word string) bool { return strings.Contains(given, word) }) {
		return nil
	}
	for _, mount := range container.VolumeMounts {
		if !mount.ReadOnly && strings.HasPrefix(v.writes+"/", strings.TrimSuffix(mount.MountPath, "/")+"/") {
			return nil
		}
	}
	return []string{fmt.Sprintf("extraVolumeMounts: %s writes to %s, unless it is told another directory, and the root file system is read-only; "+
		"mount a volume there, such as an emptyDir", v.name, v.writes)}
}

// beside is what a Go program needs beside its heap.
const beside = 16 << 20

// heap warns of a GOMEMLIMIT that leaves too little of the memory limit.
func (v vendor) heap(container *corev1.Container) []string {
	limit, isLimited := container.Resources.Limits[corev1.ResourceMemory]
	at := slices.IndexFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" })
	if !v.isGo || !isLimited || at < 0 {
		return nil
	}
	heap, err := resource.ParseQuantity(strings.TrimSuffix(container.Env[at].Value, "B"))
	if err != nil || limit.Value()-heap.Value() >= beside {
		return nil
	}
	return []string{fmt.Sprintf("resources.limits.memory: GOMEMLIMIT is %d MiB under a limit of %s, and %s needs at least 16 MiB beside its heap, "+
		"or it is killed (OOMKilled); raise the limit, or lower GOMEMLIMIT in env", heap.Value()>>20, limit.String(), v.name)}
}

var version = regexp.MustCompile(`(?m)^\x{FEFF}*%YAML[ \t]+1\.[02-9]`)

// encoding warns of texts that are legal, and that the collector's parser refuses.
func (v vendor) encoding(text string) (found []string) {
	if syntax.IsUTF16(text) {
		found = append(found, "collector.configuration: the file is UTF-16, which most collectors do not read; save it as UTF-8")
	}
	if v.isGo && version.MatchString(text) {
		found = append(found, fmt.Sprintf("collector.configuration: the parser of %s refuses the directive %%YAML, except %%YAML 1.1; remove the line", v.name))
	}
	return found
}
