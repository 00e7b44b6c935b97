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

// refusals returns what the API server would refuse of the objects in collector's manifest, by collector's own fields. The
// error joins one line for each problem.
func refusals(collector *unstructured.Unstructured, manifest string) error {
	var lines []string
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
		err = specpath.Explain(validation.Create(obj), collector, obj)
		if refused, ok := errors.AsType[*specpath.RefusedError](err); ok {
			lines = append(lines, refused.Problems...)
		} else if err != nil {
			lines = append(lines, err.Error())
		}
	}
	slices.Sort(lines)
	var refused []error
	for _, line := range slices.Compact(lines) { // a port is in two objects
		refused = append(refused, errors.New(line))
	}
	return errors.Join(refused...)
}
