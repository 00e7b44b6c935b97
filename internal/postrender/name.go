package postrender

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// suffixLength is how many digits of the hash of its content a Secret's name has.
const suffixLength = 10

// filesVolume is the chart's volume of /etc/collector.
const filesVolume = "config"

// contentName is the end of a name that a Secret of files has from its content.
var contentName = regexp.MustCompile(`-config-[0-9a-f]{10}$`)

// files is what a Secret of files has for the pods that mount it.
type files struct {
	stamps stamps // for the pod template
	suffix string // of the Secret's name, from its content; empty for a Secret of the user
}

// Running says what the pods of a live workload mount that was named without regard to its content: the names of the
// Secrets, and the hashes that are stamped on the pod template. It is empty if their Secret has its name from its content.
// It is for Renderer.Running.
func Running(template *corev1.PodTemplateSpec) string {
	var parts []string
	for i := range template.Spec.Volumes {
		if template.Spec.Volumes[i].Name == filesVolume {
			for _, name := range secretsOf(&template.Spec.Volumes[i]) {
				parts = append(parts, *name)
			}
		}
	}
	if len(parts) == 0 || len(parts) == 1 && contentName.MatchString(parts[0]) {
		return ""
	}
	for _, annotation := range []string{ConfigHashAnnotation, FilesHashAnnotation} {
		if hash := template.Annotations[annotation]; hash != "" {
			parts = append(parts, hash)
		}
	}
	return strings.Join(parts, " ")
}

// mount stamps hashes of what a pod template mounts onto it, and has it mount Secrets of files by the names that they have
// from their content. It leaves the names, and returns true, if the same content runs by them: a version of the operator
// that did not name Secrets so has deployed it, and another name would roll the pods for nothing.
func mount(template *corev1.PodTemplateSpec, secrets map[string]files, running string) bool {
	var names []*string
	for i := range template.Spec.Volumes {
		for _, name := range secretsOf(&template.Spec.Volumes[i]) {
			secrets[*name].stamps.onTemplate(template)
			names = append(names, name)
		}
	}
	if running != "" && Running(template) == running {
		return true
	}
	for _, name := range names {
		*name += secrets[*name].suffix
	}
	return false
}

// secretsOf returns the names of the Secrets that a volume shows, as they stand there.
func secretsOf(volume *corev1.Volume) (names []*string) {
	if volume.Secret != nil {
		names = append(names, &volume.Secret.SecretName)
	}
	if volume.Projected != nil {
		for _, source := range volume.Projected.Sources {
			if source.Secret != nil {
				names = append(names, &source.Secret.Name)
			}
		}
	}
	return names
}

// rename gives the chart's Secret of files the name that it has from its content, under which nobody can change it.
func rename(node *yaml.RNode, suffix string) error {
	return node.PipeE(
		yaml.Tee(yaml.SetField("immutable", yaml.MustParse("true"))),
		yaml.Lookup("metadata"), yaml.SetField("name", yaml.NewStringRNode(node.GetName()+suffix)))
}
