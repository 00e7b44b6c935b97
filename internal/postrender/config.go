package postrender

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const (
	// MaxConfigurationBytes is the largest decoded configuration. A release stores it twice, compressed and encoded,
	// in a Secret of at most 1 MiB.
	MaxConfigurationBytes = 256 << 10

	// formatRaw is the format that is not parsed.
	formatRaw = "raw"

	// ConfigurationField is where users find the configuration in their Collector.
	ConfigurationField = "spec.collector.configuration"
)

// ConfigurationError says why a configuration is not deployed: by field and line, never by content. Helm wraps it, and
// errors.As finds it.
type ConfigurationError struct {
	// Field is the field of the Collector to look at.
	Field string

	// Missing tells that there is no configuration, as opposed to a wrong one.
	Missing bool

	// Reason is what is wrong, and the fix.
	Reason string
}

// Error names the field, what is wrong with it, and the fix.
func (e *ConfigurationError) Error() string { return e.Field + ": " + e.Reason }

func refuse(format string, args ...any) error {
	return &ConfigurationError{Field: ConfigurationField, Reason: fmt.Sprintf(format, args...)}
}

// configuration is a checked configuration.
type configuration struct {
	canonical string // base64, standard alphabet, no line breaks
	hash      string // SHA-256 of the decoded bytes, in hex
}

// decode decodes and checks one configuration. Its errors name the field and the line, never content.
func decode(encoded, format string) (configuration, error) {
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return configuration{}, refuse("%v; encode the file with `base64 -w0`", err)
	}
	hash, err := Check(decoded, format)
	if err != nil {
		return configuration{}, refuse("%v", err)
	}
	return configuration{canonical: base64.StdEncoding.EncodeToString(decoded), hash: hash}, nil
}

// Check checks a decoded configuration, in a Collector's format, and returns its SHA-256 in hex. Its errors name the
// line, what is wrong there, and the fix, never content.
func Check(decoded []byte, format string) (hash string, err error) {
	if len(decoded) > MaxConfigurationBytes {
		return "", fmt.Errorf("%d bytes when decoded, at most %d are allowed; shorten it", len(decoded), MaxConfigurationBytes)
	}
	if format != formatRaw {
		if err := checkYAML(string(decoded)); err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(decoded)
	return hex.EncodeToString(sum[:]), nil
}

// checkYAML demands one YAML document that is a mapping without duplicate keys.
func checkYAML(text string) error {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return errors.New("empty when decoded; write a YAML mapping, or set format to raw")
	case err != nil:
		return fmt.Errorf("not YAML%s; mend it, or set format to raw", nearLine(err))
	}
	if root := document.Content[0]; root.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d is not a YAML mapping; start with a key such as \"receivers:\", or set format to raw", root.Line)
	}
	// The decoder checks what the parser leaves: duplicate keys, tags that do not fit, aliases that expand too far.
	var values any
	if err := document.Decode(&values); err != nil {
		return fmt.Errorf("duplicate key or value of the wrong type%s; mend it, or set format to raw", nearLine(err))
	}
	if err := decoder.Decode(&document); !errors.Is(err, io.EOF) {
		return errors.New("more than one YAML document; keep one, or set format to raw")
	}
	return nil
}

var line = regexp.MustCompile(`\bline (\d+)`)

// nearLine is all of a YAML error that may be shown: " near line N", or nothing. The rest of it can quote the input.
// "Near", because the parser counts some lines from zero.
func nearLine(err error) string {
	if found := line.FindStringSubmatch(err.Error()); found != nil {
		return " near line " + found[1]
	}
	return ""
}
