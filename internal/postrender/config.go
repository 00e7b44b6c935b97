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

	// field is where users find the configuration in their Collector.
	field = "spec.collector.configuration"
)

// configuration is a checked configuration.
type configuration struct {
	canonical string // base64, standard alphabet, no line breaks
	hash      string // SHA-256 of the decoded bytes, in hex
}

// decode decodes and checks one configuration. Its errors name the field and the line, never content.
func decode(encoded, format string) (configuration, error) {
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	var corrupt base64.CorruptInputError
	switch {
	case errors.As(err, &corrupt):
		return configuration{}, fmt.Errorf("%s: not base64 at byte %d; encode the file with `base64 -w0`", field, int64(corrupt))
	case err != nil:
		return configuration{}, fmt.Errorf("%s: not base64; encode the file with `base64 -w0`", field)
	case len(decoded) > MaxConfigurationBytes:
		return configuration{}, fmt.Errorf("%s: %d bytes when decoded, at most %d are allowed; shorten it", field, len(decoded), MaxConfigurationBytes)
	}
	if format != formatRaw {
		if err := checkYAML(string(decoded)); err != nil {
			return configuration{}, err
		}
	}
	hash := sha256.Sum256(decoded)
	return configuration{
		canonical: base64.StdEncoding.EncodeToString(decoded),
		hash:      hex.EncodeToString(hash[:]),
	}, nil
}

// checkYAML demands one YAML document that is a mapping without duplicate keys.
func checkYAML(text string) error {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s: empty when decoded; write a YAML mapping, or set format to raw", field)
	case err != nil:
		return fmt.Errorf("%s: not YAML%s; mend it, or set format to raw", field, nearLine(err))
	}
	if root := document.Content[0]; root.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: line %d is not a YAML mapping; start with a key such as \"receivers:\", or set format to raw", field, root.Line)
	}
	// The decoder checks what the parser leaves: duplicate keys, tags that do not fit, aliases that expand too far.
	var values any
	if err := document.Decode(&values); err != nil {
		return fmt.Errorf("%s: duplicate key or value of the wrong type%s; mend it, or set format to raw", field, nearLine(err))
	}
	if err := decoder.Decode(&document); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: more than one YAML document; keep one, or set format to raw", field)
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
