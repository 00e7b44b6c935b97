// Package manifest reads manifests as kubectl does: it takes the same texts, with the same meaning. All tools of the operator read what
// people write by this package. It is stricter in one thing, as the API server is: a key that is there twice is an error.
package manifest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/syntax"
)

// Objects returns the objects of a text, with the items of a list in place of the list. The text is JSON or YAML, in UTF-8, or in UTF-16
// with a byte order mark. A document with neither apiVersion nor kind, such as the values of a chart, is no manifest and is left out. Each
// error names document and line. Documents after a wrong one are read, too, unless text beside a separator ends the stream.
func Objects(text []byte) iter.Seq2[*unstructured.Unstructured, error] {
	return func(yield func(*unstructured.Unstructured, error) bool) {
		for document, err := range documents(text) {
			var found []unstructured.Unstructured
			if err == nil {
				found, err = document.objects()
			}
			if err != nil && !yield(nil, err) {
				return
			}
			for i := range found {
				if !yield(&found[i], nil) {
					return
				}
			}
		}
	}
}

// Mapping returns the one mapping that a text has, such as the values of a chart. Whole numbers are int64, others float64.
func Mapping(text []byte) (map[string]any, error) {
	var found map[string]any
	for document, err := range documents(text) {
		if err != nil {
			return nil, err
		}
		if found != nil {
			return nil, document.failed("there is more than one document; keep one")
		}
		if err := utiljson.Unmarshal(document.json, &found); err != nil {
			return nil, document.failed("not a YAML mapping; start with a key")
		}
	}
	return found, nil
}

// document is one of a text, as JSON, and where it begins.
type document struct {
	number, line int
	json         []byte
}

func (d document) failed(format string, args ...any) error {
	return fmt.Errorf("document %d, line %d: "+format, append([]any{d.number, d.line}, args...)...)
}

// documents returns those that have more than comments. Like kubectl's, a text is a stream of YAML documents. Where one begins as JSON,
// JSON documents need nothing between them.
func documents(text []byte) iter.Seq2[document, error] {
	return func(yield func(document, error) bool) {
		text, _, err := transform.Bytes(unicode.BOMOverride(unicode.UTF8.NewDecoder()), text)
		if err != nil {
			yield(document{}, fmt.Errorf("decode the text: %w", err))
			return
		}
		reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
		next := document{number: 1, line: 1}
		for {
			part, err := reader.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(document{}, beginningAt(text, badSeparator.FindIndex(text)[0]).failed(
					"--- and text on one line; begin the document on the next line"))
				return
			}
			after := next.line + bytes.Count(part, []byte("\n")) + 1
			for len(bytes.TrimSpace(part)) > 0 {
				var rest []byte
				begins := len(part) - len(bytes.TrimLeft(part, " \t\r\n"))
				next.line += bytes.Count(part[:begins], []byte("\n"))
				if next.json, rest, err = first(part[begins:]); err != nil {
					err = next.explain(part[begins:], err)
				}
				if (err != nil || string(next.json) != "null") && !yield(next, err) {
					return
				}
				next.line += bytes.Count(part[begins:len(part)-len(rest)], []byte("\n"))
				next.number++
				part = rest
			}
			next.line = after
		}
	}
}

// beginningAt returns the document whose separator is there.
func beginningAt(text []byte, at int) document {
	before := text[:at]
	return document{
		number: 1 + bytes.Count(before, []byte("\n---")) + min(len(bytes.TrimSpace(before)), 1), line: 1 + bytes.Count(before, []byte("\n")),
	}
}

// badSeparator is what the library refuses.
var badSeparator = regexp.MustCompile(`(?m)^---[ \t\r]*[^ \t\r\n#]`)

// first returns the first document of a part of a stream as JSON, and what follows it.
func first(part []byte) (asJSON, rest []byte, err error) {
	if utilyaml.IsJSONBuffer(part) {
		decoder := json.NewDecoder(bytes.NewReader(part))
		var raw json.RawMessage
		if decoder.Decode(&raw) == nil {
			var into any
			twice, err := kjson.UnmarshalStrict(raw, &into)
			return raw, part[decoder.InputOffset():], errors.Join(append(twice, err)...)
		}
	}
	asJSON, err = yaml.YAMLToJSONStrict(part)
	if err != nil && overrides(part) {
		asJSON, err = yaml.YAMLToJSON(part)
	}
	return asJSON, nil, err //nolint:wrapcheck // explain reads it
}

// overrides tells whether a mapping may have a key twice only because it also merges (<<) a mapping that has it. The strict parser refuses
// that, and neither kubectl nor YAML's later parser does.
func overrides(part []byte) bool {
	var into any
	return bytes.Contains(part, []byte("<<")) && kyaml.Unmarshal(part, &into) == nil
}

// twice finds a key that is there twice in what the libraries say.
var twice = regexp.MustCompile(`line (\d+): (key .* already set in map)|duplicate (field ".*")`)

// explain says why a document cannot be read, without its content.
func (d document) explain(text []byte, err error) error {
	if found := twice.FindStringSubmatch(err.Error()); found != nil {
		line, _ := strconv.Atoi(found[1])
		d.line += max(line, 1) - 1
		return d.failed("%s; remove it", found[2]+found[3])
	}
	wrong := &syntax.Error{}
	if errors.As(syntax.Check(string(text)), &wrong) {
		d.line += max(wrong.Line, 1) - 1
		return d.failed("%s", wrong.Reason)
	}
	return d.failed("not YAML; correct it")
}

// objects returns the objects of a document, as kubectl decodes them.
func (d document) objects() ([]unstructured.Unstructured, error) {
	var typed struct {
		APIVersion any `json:"apiVersion"`
		Kind       any `json:"kind"`
	}
	isMapping := json.Unmarshal(d.json, &typed) == nil
	if isMapping && typed.APIVersion == nil && typed.Kind == nil {
		return nil, nil
	}
	object, _, err := unstructured.UnstructuredJSONScheme.Decode(d.json, nil, nil)
	if runtime.IsMissingKind(err) {
		return nil, d.failed("no kind; write apiVersion and kind")
	}
	if err != nil {
		return nil, d.failed("not a Kubernetes object; write apiVersion, kind and metadata")
	}
	list, is := object.(*unstructured.UnstructuredList)
	if !is {
		return []unstructured.Unstructured{*object.(*unstructured.Unstructured)}, nil //nolint:forcetypeassert // it is one of the two
	}
	for i := range list.Items {
		if list.Items[i].GetKind() == "" || list.Items[i].IsList() {
			return nil, d.failed("items[%d]: not an object with a kind; write each object with apiVersion and kind", i)
		}
	}
	return list.Items, nil
}
