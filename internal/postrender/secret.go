package postrender

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const (
	// ConfigurationAnnotation marks the chart's Secret of files. Its value is the configuration's format.
	ConfigurationAnnotation = "kube8.dev/configuration"

	// ConfigurationFileAnnotation says which key of that Secret is the configuration; without it, none is.
	ConfigurationFileAnnotation = "kube8.dev/configuration-file"

	// ConfigHashAnnotation carries the SHA-256 of the decoded configuration, in hex: on the Secret, and on each pod
	// template that mounts it, so that a changed configuration rolls the pods and a re-encoded equal one does not.
	ConfigHashAnnotation = "kube8.dev/config-sha256"

	// FilesHashAnnotation does the same for further files: it is the SHA-256 of what `sha256sum` prints of them, in the
	// order of their names.
	FilesHashAnnotation = "kube8.dev/files-sha256"
)

// stamps are annotations with hashes of what a Secret holds.
type stamps map[string]string

// decodeSecret checks and canonicalises the files in node, and stamps their hashes. It returns what pods get to know of
// them; nothing for an object that is not the chart's Secret of files.
func decodeSecret(node *yaml.RNode) (*files, error) {
	annotations := node.GetAnnotations()
	format, marked := annotations[ConfigurationAnnotation]
	if !marked || node.GetKind() != "Secret" {
		return nil, nil
	}
	configuration := annotations[ConfigurationFileAnnotation]
	stamped := stamps{}
	all, further, total := map[string]string{}, map[string]string{}, 0 // hashes by name, and the size of further files
	err := node.PipeE(yaml.Get("data"), yaml.FilterFunc(func(data *yaml.RNode) (*yaml.RNode, error) {
		return nil, data.VisitFields(func(entry *yaml.MapNode) error {
			name, value := entry.Key.YNode().Value, entry.Value.YNode()
			field := FilesField + "[" + name + "]"
			if name == configuration {
				field = ConfigurationField
			}
			decoded, err := decode(value.Value)
			if err != nil {
				return refuse(field, err)
			}
			value.SetString(base64.StdEncoding.EncodeToString(decoded))
			all[name] = hashOf(decoded)
			if name != configuration {
				further[name] = all[name]
				total += len(decoded)
				return nil
			}
			if stamped[ConfigHashAnnotation], err = Check(decoded, format); err != nil {
				return refuse(field, err)
			}
			return nil
		})
	}))
	switch {
	case err != nil:
		return nil, err
	case configuration != "" && stamped[ConfigHashAnnotation] == "":
		return nil, refuse(ConfigurationField, errors.New("empty; set it to the collector's configuration, base64-encoded"))
	case total > MaxConfigurationBytes:
		return nil, refuse(FilesField, errFiles)
	case len(further) > 0:
		stamped[FilesHashAnnotation] = hashOfAll(further)
	}
	suffix := "-" + hashOfAll(all)[:suffixLength]
	if strings.HasSuffix(node.GetName(), suffix) {
		suffix = ""
	}
	return &files{stamped, suffix}, stamped.on(node)
}

// hashOfAll returns one hash for files, whose own hashes are given by name.
func hashOfAll(files map[string]string) string {
	var list bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&list, "%s  %s\n", files[name], name)
	}
	return hashOf(list.Bytes())
}

// onTemplate writes the stamps to a pod template.
func (s stamps) onTemplate(template *corev1.PodTemplateSpec) {
	for annotation, hash := range s {
		metav1.SetMetaDataAnnotation(&template.ObjectMeta, annotation, hash)
	}
}

// on writes the stamps to an object.
func (s stamps) on(node *yaml.RNode) error {
	for _, annotation := range slices.Sorted(maps.Keys(s)) {
		if err := node.PipeE(yaml.SetAnnotation(annotation, s[annotation])); err != nil {
			return err
		}
	}
	return nil
}
