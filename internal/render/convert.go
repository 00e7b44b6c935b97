package render

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	goyaml "go.yaml.in/yaml/v2"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

// maxExact is how large numbers are the same as integers and as numbers of JSON.
const maxExact = 1 << 53

// toYAML is yaml.Marshal. It leaves out JSON, through which that goes, where JSON would change nothing.
func toYAML(value any) ([]byte, error) {
	if same, isSame := convert(value, false); isSame {
		return goyaml.Marshal(same) //nolint:wrapcheck // as the other one
	}
	return yaml.Marshal(value) //nolint:wrapcheck // the caller does
}

// fromYAML reads an object as JSON has it, and returns its JSON too. As toYAML does, it leaves out JSON as far as it can.
func fromYAML(text string) (object map[string]any, asJSON []byte, err error) {
	var parsed any
	if err := goyaml.Unmarshal([]byte(text), &parsed); err != nil {
		return nil, nil, err //nolint:wrapcheck // the caller does not quote it
	}
	converted, isSame := convert(parsed, true)
	if !isSame {
		if asJSON, err = yaml.YAMLToJSON([]byte(text)); err == nil {
			err = json.Unmarshal(asJSON, &object)
		}
		return object, asJSON, err //nolint:wrapcheck // the caller does not quote it
	}
	object, isObject := converted.(map[string]any)
	if !isObject && converted != nil {
		return nil, nil, errors.New("no object")
	}
	asJSON, err = json.Marshal(object)
	return object, asJSON, err //nolint:wrapcheck // the caller does not quote it
}

// convert returns a value as JSON has it, with all numbers as floating ones or all as integers. It does not know all values.
func convert(value any, floats bool) (converted any, isKnown bool) {
	switch v := value.(type) {
	case nil, bool:
		return v, true
	case string:
		return v, isPlain(v)
	case int:
		return number(float64(v), floats)
	case int64:
		return number(float64(v), floats)
	case float64:
		return number(v, floats)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			if list[i], isKnown = convert(v[i], floats); !isKnown {
				return nil, false
			}
		}
		return list, v != nil
	case chartutil.Values:
		return convert(map[string]any(v), floats)
	case map[string]any:
		fields := make(map[string]any, len(v))
		for key, field := range v {
			if fields[key], isKnown = convert(field, floats); !isKnown || !isPlain(key) {
				return nil, false
			}
		}
		return fields, v != nil
	case map[any]any:
		fields := make(map[string]any, len(v))
		for key, field := range v {
			name, isText := key.(string)
			if fields[name], isKnown = convert(field, floats); !isText || !isKnown || !isPlain(name) {
				return nil, false
			}
		}
		return fields, true
	}
	return nil, false
}

// isPlain tells whether YAML, JSON and Go agree about a text.
func isPlain(text string) bool {
	isOdd := func(char rune) bool { return !unicode.IsPrint(char) && char != '\n' && char != '\t' }
	return utf8.ValidString(text) && !strings.ContainsFunc(text, isOdd)
}

func number(v float64, floats bool) (any, bool) {
	if floats {
		return v, math.Abs(v) < maxExact
	}
	return int64(v), v == math.Trunc(v) && math.Abs(v) < maxExact
}
