package postrender

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
)

const (
	// MaxConfigurationBytes is the largest decoded configuration, and how much all further files may be together. One Secret,
	// of at most 1 MiB, holds both.
	MaxConfigurationBytes = 256 << 10

	// MaxEncodedBytes is the longest base64 text of a file, line breaks included.
	MaxEncodedBytes = 360 << 10

	// ConfigurationField is where users find the configuration in their Collector, and filesField the further files.
	ConfigurationField = "spec.collector.configuration"
	filesField         = "spec.collector.files"
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

// Error names the field, the fault and the fix.
func (e *ConfigurationError) Error() string { return e.Field + ": " + e.Reason }

var urlSafe = regexp.MustCompile(`^[-_A-Za-z0-9]*[-_][-_A-Za-z0-9]*={0,2}$`)

// decode decodes base64 in the standard alphabet, with or without line breaks. Its errors never name content. The rules of the
// Collector's schema (api/v1alpha1, FileContent) give the same reasons in the same words.
func decode(encoded string) ([]byte, error) {
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

// Check checks a decoded configuration, in a Collector's format, and returns its SHA-256 in hex. Its errors name the
// line, the fault and the fix, never content.
func Check(decoded []byte, format string) (hash string, err error) {
	if len(decoded) > MaxConfigurationBytes {
		return "", errors.New("more than 262144 bytes when decoded; shorten it")
	}
	if format != "raw" {
		if err := checkYAML(string(decoded)); err != nil {
			return "", fmt.Errorf("%w, or set format to raw", err)
		}
	}
	return hashOf(decoded), nil
}

// hashOf returns the SHA-256 of content as `sha256sum` prints it.
func hashOf(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }
