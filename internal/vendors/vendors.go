// Package vendors knows traps of collectors that neither the API server nor the operator refuses: what a vendor's documents or its users
// say. It warns of them. The facts are one table, and the package is pure.
package vendors

import (
	_ "embed" // for the table
	"encoding/base64"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/syntax"
)

// vendor is a row of the table.
type vendor struct {
	Name, Image, Writes, With  string
	Reads, ReadsAll, Elsewhere []string
	Go                         bool
}

//go:embed facts.yaml
var facts []byte

// known is the table.
var known = sync.OnceValue(func() (all []vendor) {
	if err := yaml.UnmarshalStrict(facts, &all); err != nil {
		panic(err) // the table is a part of the program
	}
	return all
})

// of returns the vendor of an image, which is the whole reference or a Collector's collector.name.
func of(image string) vendor {
	image, _, _ = strings.Cut(image, "@")
	if at := strings.LastIndex(image, ":"); at > strings.LastIndex(image, "/") {
		image = image[:at]
	}
	for _, one := range known() {
		if is, _ := regexp.MatchString(one.Image, image); is {
			return one
		}
	}
	return vendor{}
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
		collects := of(container.Image)
		if name, _ := config["name"].(string); collects.Name == "" && !strings.Contains(name, "/") {
			collects = of(name)
		}
		found = slices.Concat(found, collects.readsTwice(container), collects.writesBelowRoot(container, text), collects.heap(container),
			collects.encoding(text), together(object, &pod.Spec))
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
	arguments := slices.Concat(container.Command, container.Args)
	for _, variable := range container.Env {
		arguments = append(arguments, variable.Name+"="+variable.Value)
	}
	files, folders := values(arguments, v.Reads), values(arguments, v.ReadsAll)
	for i, file := range files {
		isIn := func(folder string) bool { return strings.HasPrefix(file, strings.TrimSuffix(folder, "/")+"/") }
		if slices.Contains(files[:i], file) || slices.ContainsFunc(folders, isIn) {
			found = append(found, fmt.Sprintf("args: %s reads %s twice, so its parts run twice; "+
				"name the file once, and for further files a directory "+
				"such as /etc/collector/conf.d: collector.files takes conf.d/NAME", v.Name, file))
		}
	}
	return found
}

// values returns the values of arguments and variables of these names, clean.
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
	isReadOnly := container.SecurityContext != nil && ptr.Deref(container.SecurityContext.ReadOnlyRootFilesystem, false)
	if v.Writes == "" || !isReadOnly || !strings.Contains(text, v.With) {
		return nil
	}
	words := append(slices.Concat(container.Command, container.Args), text)
	for _, variable := range container.Env {
		words = append(words, variable.Name)
	}
	given := strings.Join(words, " ")
	if slices.ContainsFunc(v.Elsewhere, func(word string) bool { return strings.Contains(given, word) }) {
		return nil
	}
	for _, mount := range container.VolumeMounts {
		if !mount.ReadOnly && strings.HasPrefix(v.Writes+"/", strings.TrimSuffix(mount.MountPath, "/")+"/") {
			return nil
		}
	}
	return []string{fmt.Sprintf("extraVolumeMounts: %s writes to %s, unless it is told another directory, "+
		"and the root file system is read-only; "+
		"mount a volume there, such as an emptyDir", v.Name, v.Writes)}
}

// Programs of several languages print one of these where they cannot write, and where another program writes.
var (
	readOnly = regexp.MustCompile(`(?i)read-only file ?system|\bEROFS\b|could not find a temporary directory`)
	locked   = regexp.MustCompile(`(?i)\block\b.*resource temporarily unavailable|already locked by another`)
)

// InLog returns what is known of the end of a log, or "". It has no word of the log.
func InLog(image, text string) string {
	collects := of(image)
	switch {
	case locked.MatchString(text):
		return "a folder of the collector is locked by another process"
	case !readOnly.MatchString(text):
		return ""
	case collects.Writes == "":
		return "read-only file system"
	}
	return fmt.Sprintf("read-only file system: %s writes to %s, unless it is told another directory", collects.Name, collects.Writes)
}

// beside is what a Go program needs beside its heap.
const beside = 16 << 20

// goMemLimit is what a Go program takes as GOMEMLIMIT, or what is not known before pods run.
var goMemLimit = regexp.MustCompile(`^(off|\d+(([KMGT]i)?B)?)?$|\$\(`)

// heap warns of a GOMEMLIMIT that no Go program starts with, or that leaves too little of the memory limit.
func (v vendor) heap(container *corev1.Container) []string {
	limit, isLimited := container.Resources.Limits[corev1.ResourceMemory]
	at := slices.IndexFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" })
	switch {
	case !v.Go || at < 0:
		return nil
	case container.Env[at].ValueFrom != nil:
		return v.heapOf(container.Env[at].ValueFrom.ResourceFieldRef, limit)
	case !goMemLimit.MatchString(container.Env[at].Value):
		return []string{fmt.Sprintf("env: %s does not start with this GOMEMLIMIT; write a whole number of bytes, "+
			"or one with KiB, MiB, GiB or TiB, such as 400MiB", v.Name)}
	case !isLimited:
		return nil
	}
	heap, err := resource.ParseQuantity(strings.TrimSuffix(container.Env[at].Value, "B"))
	if err != nil || limit.Value()-heap.Value() >= beside {
		return nil
	}
	return []string{fmt.Sprintf("resources.limits.memory: GOMEMLIMIT is %d MiB under a limit of %s, "+
		"and %s needs at least 16 MiB beside its heap, "+
		"or it is killed (OOMKilled); raise the limit, or lower GOMEMLIMIT in env", heap.Value()>>20, limit.String(), v.Name)}
}

// heapOf warns of a GOMEMLIMIT that is the memory limit, or its count of a larger unit, which Go takes for bytes.
func (v vendor) heapOf(field *corev1.ResourceFieldSelector, limit resource.Quantity) []string {
	switch {
	case field == nil || field.Resource != "limits.memory":
		return nil
	case field.Divisor.Value() > 1:
		return []string{fmt.Sprintf("env: GOMEMLIMIT is the memory limit in units of %s, and %s takes it for bytes, "+
			"so it collects garbage all the time; write it in env, such as 400MiB", field.Divisor.String(), v.Name)}
	}
	return []string{fmt.Sprintf("env: GOMEMLIMIT is the whole memory limit of %s, and %s needs at least 16 MiB beside its heap, "+
		"or it is killed (OOMKilled); write a lower one in env", limit.String(), v.Name)}
}

var version = regexp.MustCompile(`(?m)^\x{FEFF}*%YAML[ \t]+1\.[02-9]`)

// encoding warns of texts that are legal, and that the collector's parser refuses.
func (v vendor) encoding(text string) (found []string) {
	if syntax.IsUTF16(text) {
		found = append(found, "collector.configuration: the file is UTF-16, which most collectors do not read; save it as UTF-8")
	}
	if v.Go && version.MatchString(text) {
		found = append(found, fmt.Sprintf(
			"collector.configuration: the parser of %s refuses the directive %%YAML, except %%YAML 1.1; remove the line", v.Name))
	}
	return found
}
