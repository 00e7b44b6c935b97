// Package configuration checks a collector's configuration before anything else reads it, and finds in it what the chart needs. Each text
// that a tenant can write takes linear time and bounded memory. The package is pure, and no error has content of a configuration.
package configuration

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/kube8/kube8-operator/internal/syntax"
)

const (
	// MaxBytes is the largest decoded configuration, and how much all further files may be together. One Secret, of at most 1 MiB, holds
	// both.
	MaxBytes = 256 << 10

	// MaxEncodedBytes is the longest base64 text of a file, line breaks included.
	MaxEncodedBytes = 360 << 10

	// Field is where users find the configuration in their Collector, unless it is there as text.
	Field = "spec.collector.configuration"

	// textField is where they find it then.
	textField = "spec.collector.configurationText"

	// raw is the format that is not checked.
	raw = "raw"
)

// Error says why a configuration is not deployed: by field and line, never by content.
type Error struct {
	// Field is the field of the Collector to look at.
	Field string

	// Missing tells that there is no configuration, as opposed to a wrong one.
	Missing bool

	// Reason is what is wrong, and the fix.
	Reason string
}

// Error names the field, the fault and the fix.
func (e *Error) Error() string { return e.Field + ": " + e.Reason }

var urlSafe = regexp.MustCompile(`^[-_A-Za-z0-9]*[-_][-_A-Za-z0-9]*={0,2}$`)

// Decode decodes base64 in the standard alphabet, with or without line breaks. Its errors never name content. The rules of the
// Collector's schema (api/v1alpha1, FileContent) give the same reasons in the same words.
func Decode(encoded string) ([]byte, error) {
	if len(encoded) > MaxEncodedBytes {
		return nil, errors.New("may not be more than 368640 bytes; leave out line breaks")
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case encoded == "":
		return nil, errors.New("empty; leave the field out, or set it to the file, encoded with `base64 -w0`")
	case err != nil && urlSafe.MatchString(encoded):
		return nil, errors.New("URL-safe base64; encode the file with `base64 -w0`, which writes + and / for - and _")
	case err != nil || len(decoded) == 0:
		return nil, errors.New("not base64, or base64 with spaces or cut off; encode the file with `base64 -w0`")
	}
	return decoded, nil
}

// Check checks a decoded configuration, in a Collector's format, and returns its health check, if it has one. Its errors name the line,
// the fault and the fix, never content.
func Check(decoded []byte, format string) (*HealthCheck, error) {
	if len(decoded) > MaxBytes {
		return nil, errors.New("more than 262144 bytes when decoded; shorten it")
	}
	if format == raw {
		return nil, nil
	}
	root, err := parse(string(decoded))
	if wrong, is := errors.AsType[*syntax.Error](err); is && wrong.AnyFormat {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w, or set format to raw if the file is not YAML", err)
	}
	return healthCheckIn(root), nil
}

// CheckPart checks a file that a collector merges into its configuration, or includes there: a YAML mapping or list.
func CheckPart(content []byte) error {
	_, err := parseAny(string(content), yaml.MappingNode, yaml.SequenceNode)
	return err
}

// Prepare checks the configuration in a chart's values, if they have one, and adds to them what its templates need of it: the value
// healthCheck, as the API's httpGet, and arguments that name the files of bases. The error is an *Error.
func Prepare(values map[string]any) error {
	collector, _ := values["collector"].(map[string]any)
	decoded, field, err := given(collector)
	if field == "" {
		return readBases(values, nil)
	}
	format, _ := collector["format"].(string)
	var found *HealthCheck
	if err == nil {
		found, err = Check(decoded, format)
	}
	if err != nil {
		return &Error{Field: field, Reason: err.Error()}
	}
	if found != nil {
		found = found.amongFiles(values)
	}
	if found != nil && !found.isLoopback(values) {
		values["healthCheck"] = map[string]any{"path": found.Path, "port": found.Port, "scheme": "HTTP"}
	}
	return readBases(values, decoded)
}

// given returns the configuration in a Collector's field collector, and the name of the field. That is empty if there is none.
func given(collector map[string]any) (content []byte, field string, err error) {
	if text, isSet := collector["configurationText"].(string); isSet {
		switch {
		case text == "":
			err = errors.New("empty; leave the field out, or set it to the content of the file")
		case len(text) > MaxBytes:
			err = errors.New("more than 262144 bytes; shorten it")
		case collector["format"] != raw && isBase64(text):
			err = errors.New("base64; set configuration to it instead, or set format to raw")
		}
		return []byte(text), textField, err
	}
	encoded, isSet := collector["configuration"].(string)
	if !isSet {
		return nil, "", nil
	}
	content, err = Decode(encoded)
	return content, Field, err
}

// FileKey returns the key of a Secret for the file of a path: a key has no "/". The Collector's schema has no two files of one key.
func FileKey(path string) string { return strings.ReplaceAll(path, "/", "..") }

// FilePath returns the path of the file that has a key in a Secret.
func FilePath(key string) string { return strings.ReplaceAll(key, "..", "/") }

// HashOf returns the SHA-256 of content as `sha256sum` prints it.
func HashOf(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }
