package render

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kube8/kube8-operator/internal/specpath"
	"github.com/kube8/kube8-operator/internal/validation"
)

// refusals returns what the API server would refuse of the objects in collector's manifest, by collector's own fields, as a
// RefusedError.
func refusals(collector *unstructured.Unstructured, manifest string) error {
	var problems RefusedError
	reader := yamlutil.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read rendered manifest: %w", err)
		}
		obj, err := parse(text)
		if err != nil {
			return fmt.Errorf("read rendered manifest: %w", err)
		}
		if err := specpath.Explain(validation.Create(obj), collector, obj); err != nil {
			problems = append(problems, problemsOf(err)...)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return strings.Compare(a.String(), b.String()) })
	return problems.about("", "") // each once: a port is in two objects
}
