package redact

import (
	"encoding/base64"
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// encoded matches words that may be a part of a Secret's data: 24 letters or more, as base64 has them.
var encoded = regexp.MustCompile(`[A-Za-z0-9+/]{24,}={0,2}`)

// longest is how many bytes of an answer about a Collector are redacted. The text of a Collector has other fields before its spec.
const longest = 250

// Refusal returns an answer of the API server about a Secret without the data of the Secret: a webhook may repeat what it was given. Other
// errors are returned as they are.
func Refusal(err error) error { return Rewritten(err, withoutData) }

// RefusalOfCollector is Refusal for an answer about a Collector, whose spec can have a configuration as a text.
func RefusalOfCollector(err error) error {
	return Rewritten(err, func(text string) string {
		if text = withoutData(text); len(text) > longest {
			text = strings.ToValidUTF8(text[:longest], "") + "…"
		}
		return text
	})
}

// Rewritten returns an answer of the API server with other texts, and the same answer if its texts stay.
func Rewritten(err error, write func(string) string) error {
	status, is := errors.AsType[*apierrors.StatusError](err)
	if !is {
		return err
	}
	redacted := &apierrors.StatusError{ErrStatus: *status.ErrStatus.DeepCopy()}
	redacted.ErrStatus.Message = write(redacted.ErrStatus.Message)
	if redacted.ErrStatus.Details != nil {
		for i := range redacted.ErrStatus.Details.Causes {
			cause := &redacted.ErrStatus.Details.Causes[i]
			cause.Message = write(cause.Message)
		}
	}
	if equality.Semantic.DeepEqual(redacted.ErrStatus, status.ErrStatus) {
		return err
	}
	return redacted
}

func withoutData(text string) string {
	return encoded.ReplaceAllStringFunc(text, func(word string) string {
		if isData(word) {
			return "(hidden)"
		}
		return word
	})
}

// isData tells whether a word is no name of a kind or of an object: it is very long, or base64 of a text. The text may be cut off.
func isData(word string) bool {
	content, err := base64.StdEncoding.DecodeString(word[:len(word)/4*4])
	for range utf8.UTFMax - 1 {
		if err == nil && !utf8.Valid(content) {
			content = content[:len(content)-1]
		}
	}
	isName := strings.ToLower(word) == word
	return len(word) > 200 || err == nil && utf8.Valid(content) && !isName
}
