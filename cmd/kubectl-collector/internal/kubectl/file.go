package kubectl

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// file is one of the files that a Collector has in /etc/collector: its configuration, or a further one.
type file struct {
	name          string
	configuration bool
}

// fileOf returns the file of a name. The default is the configuration. A name that is neither is that of a new file.
func fileOf(collector *v1alpha1.Collector, name string) file {
	configuration := cmp.Or(collector.Spec.Collector.FileName, "config.yaml")
	_, further := collector.Spec.Collector.Files[name]
	return file{name: cmp.Or(name, configuration), configuration: !further && (name == "" || name == configuration)}
}

// content returns a file's content, and whether there is such a file.
func (f file) content(collector *v1alpha1.Collector) (content []byte, found bool) {
	if f.configuration {
		content = configurationIn(collector.Spec.Collector)
		return content, len(content) > 0
	}
	content, found = collector.Spec.Collector.Files[f.name]
	return content, found
}

// configurationIn returns the configuration that is in a Collector itself.
func configurationIn(config v1alpha1.CollectorConfig) []byte {
	if config.ConfigurationText != "" {
		return []byte(config.ConfigurationText)
	}
	return config.Configuration
}

// isText tells whether a file reads as text: no byte of it is lost in a Collector, and YAML shows it as it is.
func isText(content []byte) bool {
	return utf8.Valid(content) && !bytes.ContainsFunc(content, func(r rune) bool {
		return r != '\n' && r != '\t' && !unicode.IsPrint(r)
	})
}

// asText tells whether a configuration is written as text. It stays text or base64, whichever it is.
func asText(before v1alpha1.CollectorConfig, content []byte) bool {
	return before.ConfigurationText != "" && utf8.Valid(content) || len(before.Configuration) == 0 && isText(content)
}

// put returns a copy of a Collector whose file has that content, and the JSON merge patch for this change.
func (f file) put(collector *v1alpha1.Collector, content []byte) (*v1alpha1.Collector, map[string]any) {
	changed := collector.DeepCopy()
	field := map[string]any{"configuration": content}
	if config := &changed.Spec.Collector; f.configuration {
		if asText(*config, content) {
			config.ConfigurationText = v1alpha1.FileText(content)
			field = map[string]any{"configurationText": string(content)}
		} else {
			config.Configuration, config.ConfigurationText = content, ""
			field["configurationText"] = nil
		}
	} else {
		if changed.Spec.Collector.Files == nil {
			changed.Spec.Collector.Files = map[string]v1alpha1.FileContent{}
		}
		changed.Spec.Collector.Files[f.name] = content
		field = map[string]any{"files": map[string]any{f.name: content}}
	}
	return changed, map[string]any{"spec": map[string]any{"collector": field}}
}

// isElsewhere returns an error if the file cannot be written here, because it is in a Secret of another owner.
func (f file) isElsewhere(collector *v1alpha1.Collector) error {
	source := collector.Spec.Collector.ConfigurationSecret
	if !f.configuration || source == nil {
		return nil
	}
	return fmt.Errorf("the configuration of Collector %s/%s is not in the Collector: it is key %s of Secret %s; change it there, "+
		"and the operator follows at once", collector.Namespace, collector.Name, source.Key, source.Name)
}

// noFileError says that a Collector, or a revision of it, has no file of a name.
type noFileError struct{ error }

// contentOf returns the content of a Collector's file. A configuration that is in a Secret is read from there.
func (s *session) contentOf(ctx context.Context, collector *v1alpha1.Collector, f file) ([]byte, error) {
	if source := collector.Spec.Collector.ConfigurationSecret; f.configuration && source != nil {
		return s.secret(ctx, source.Name, source.Key)
	}
	if content, found := f.content(collector); found {
		return content, nil
	}
	if f.configuration {
		return nil, fmt.Errorf("collector %s/%s has no configuration; `kubectl collector config set` gives it one",
			collector.Namespace, collector.Name)
	}
	return nil, noFileError{fmt.Errorf("collector %s/%s has no file %s; it has %s", collector.Namespace, collector.Name, f.name,
		strings.Join(append(slices.Sorted(maps.Keys(collector.Spec.Collector.Files)), fileOf(collector, "").name), ", "))}
}

// secret returns what is under a key of a Secret.
func (s *session) secret(ctx context.Context, name, key string) ([]byte, error) {
	secret := &corev1.Secret{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, secret)
	switch content, found := secret.Data[key]; {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("the configuration is key %s of Secret %s, which your account may not read: %w", key, name, err)
	case err != nil:
		return nil, fmt.Errorf("read the configuration from Secret %s: %w", name, err)
	case !found:
		return nil, fmt.Errorf("the Secret %s has no key %s, in which the configuration should be", name, key)
	default:
		return content, nil
	}
}

// input reads a file that the user names, or standard input for "-".
func (p *plugin) input(path string) (content []byte, err error) {
	if path == "-" {
		content, err = io.ReadAll(p.In)
	} else {
		content, err = os.ReadFile(path)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read --from-file: %w", err)
	case len(content) == 0:
		return nil, fmt.Errorf("--from-file %s is empty", path)
	}
	return content, nil
}
