package postrender

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const (
	// suffixLength is how many digits of the hash of its content a Secret's name has.
	suffixLength = 10

	// filesVolume is the chart's volume of /etc/collector.
	filesVolume = "config"
)

// contentName is the end of a name that a Secret of files has from its content.
var contentName = regexp.MustCompile(`-config-[0-9a-f]{10}$`)

// files is what a Secret of files has for the pods that mount it.
type files struct {
	stamps stamps // for the pod template
	suffix string // of the Secret's name, from its content; empty for a Secret of the user
}

// rename gives the Secret the name that it has from its content, under which nobody can change it.
func (f *files) rename(secret *yaml.RNode) error {
	if err := secret.SetName(secret.GetName() + f.suffix); err != nil {
		return err
	}
	return secret.PipeE(yaml.SetField("immutable", yaml.MustParse("true")))
}

// Running says what the pods of a live workload mount that was named without regard to its content: the names of the
// Secrets, and the hashes that are stamped on the pod template. It is empty if their Secret has its name from its content.
// It is for Renderer.Running. An earlier version of the operator deployed such Secrets. As long as their content is the same,
// another name would roll the pods for nothing.
func Running(template *corev1.PodTemplateSpec) string {
	var names []string
	for _, volume := range template.Spec.Volumes {
		if volume.Name != filesVolume {
			continue
		}
		if volume.Secret != nil {
			names = append(names, volume.Secret.SecretName)
		}
		for _, source := range ptr.Deref(volume.Projected, corev1.ProjectedVolumeSource{}).Sources {
			if source.Secret != nil {
				names = append(names, source.Secret.Name)
			}
		}
	}
	if len(names) == 0 || len(names) == 1 && contentName.MatchString(names[0]) {
		return ""
	}
	return running(names, template.Annotations)
}

func running(names []string, stamps map[string]string) string {
	slices.Sort(names)
	return strings.Join(append(slices.Compact(names), stamps[ConfigHashAnnotation], stamps[FilesHashAnnotation]), " ")
}

// running says what Running would say if the object ran with the names that the chart gives.
func (o *object) running() string {
	var names []string
	for _, name := range o.mounts {
		names = append(names, name.Value)
	}
	return running(names, o.stamps)
}
