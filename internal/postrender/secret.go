package postrender

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/kube8/kube8-operator/internal/configuration"
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
	// order of their keys.
	FilesHashAnnotation = "kube8.dev/files-sha256"

	// baseFilesAnnotation names the files of that Secret that are bases, with spaces between them.
	baseFilesAnnotation = "kube8.dev/base-files"

	// BasesHashAnnotation does for bases what FilesHashAnnotation does for further files.
	BasesHashAnnotation = "kube8.dev/bases-sha256"

	filesField = "spec.collector.files"

	// suffixLength is how many digits of the hash of its content a Secret's name has.
	suffixLength = 10
)

// stamps are annotations with hashes of what a Secret holds.
type stamps map[string]string

// files is what a Secret of files has for the pods that mount it.
type files struct {
	stamps stamps // for the pod template
	suffix string // of the Secret's name, from its content; empty for a Secret of the user
}

// decodeSecret checks and canonicalises the files in a Secret, stamps their hashes, and gives it the name that it has from its
// content, and makes it immutable. It returns what pods get to know of the files; nothing for an object that is not
// the chart's Secret of files.
func decodeSecret(secret *yaml.RNode) (*files, error) {
	annotations := secret.GetAnnotations()
	if _, marked := annotations[ConfigurationAnnotation]; !marked || secret.GetKind() != "Secret" {
		return nil, nil
	}
	file := annotations[ConfigurationFileAnnotation]
	stamped := stamps{}
	var all, further, bases strings.Builder // what sha256sum prints of the files
	total := 0
	baseFiles := strings.Fields(annotations[baseFilesAnnotation])
	data := secret.GetDataMap()
	for _, name := range slices.Sorted(maps.Keys(data)) {
		field := filesField + "[" + configuration.FilePath(name) + "]"
		if name == file {
			field = configuration.Field
		}
		decoded, err := configuration.Decode(data[name])
		if err != nil {
			return nil, &configuration.Error{Field: field, Reason: err.Error()}
		}
		canonical := yaml.NewStringRNode(base64.StdEncoding.EncodeToString(decoded))
		if err := secret.SetMapField(canonical, yaml.DataField, name); err != nil {
			return nil, fmt.Errorf("write %s: %w", field, err)
		}
		line := fmt.Sprintf("%s  %s\n", configuration.HashOf(decoded), name)
		all.WriteString(line)
		switch {
		case name == file:
			stamped[ConfigHashAnnotation] = configuration.HashOf(decoded)
		case slices.Contains(baseFiles, name):
			bases.WriteString(line)
		default:
			further.WriteString(line)
			total += len(decoded)
		}
	}
	switch {
	case file != "" && stamped[ConfigHashAnnotation] == "":
		return nil, &configuration.Error{Field: configuration.Field, Reason: "empty; set it to the collector's configuration, base64-encoded"}
	case total > configuration.MaxBytes:
		return nil, &configuration.Error{Field: filesField, Reason: "more than 262144 bytes together when decoded; shorten them"}
	case total > 0:
		stamped[FilesHashAnnotation] = configuration.HashOf([]byte(further.String()))
	}
	if bases.Len() > 0 {
		stamped[BasesHashAnnotation] = configuration.HashOf([]byte(bases.String()))
	}
	suffix := "-" + configuration.HashOf([]byte(all.String()))[:suffixLength]
	if strings.HasSuffix(secret.GetName(), suffix) {
		suffix = "" // it has been here before
	}
	return &files{stamped, suffix}, errors.Join(stamped.on(secret), secret.SetName(secret.GetName()+suffix),
		secret.PipeE(yaml.SetField("immutable", yaml.MustParse("true"))))
}

// on writes the stamps to the annotations of an object, or of the one at a path in it.
func (s stamps) on(node *yaml.RNode, path ...string) error {
	for _, annotation := range slices.Sorted(maps.Keys(s)) {
		if err := node.PipeE(yaml.Lookup(path...), yaml.SetAnnotation(annotation, s[annotation])); err != nil {
			return err
		}
	}
	return nil
}
