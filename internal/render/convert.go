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
	return walk(value, func(leaf any) (any, bool) {
		var number float64
		switch v := leaf.(type) {
		case nil, bool:
			return v, true
		case string: // about which YAML, JSON and Go agree
			isOdd := func(char rune) bool { return !unicode.IsPrint(char) && char != '\n' && char != '\t' }
			return v, utf8.ValidString(v) && !strings.ContainsFunc(v, isOdd)
		case int:
			number = float64(v)
		case int64:
			number = float64(v)
		case float64:
			number = v
		default:
			return nil, false
		}
		if isExact := math.Abs(number) < maxExact; floats || !isExact {
			return number, isExact
		}
		return int64(number), number == math.Trunc(number)
	})
}

// walk returns a copy of a value, with what a function makes of each key and of what is neither a map nor a list, if it knows them.
func walk(value any, leaf func(any) (any, bool)) (copied any, isKnown bool) {
	switch v := value.(type) {
	case chartutil.Values:
		return walkFields(v, leaf)
	case map[string]any:
		return walkFields(v, leaf)
	case map[any]any:
		return walkFields(v, leaf)
	case []any:
		if v == nil {
			return leaf(nil)
		}
		list := make([]any, len(v))
		for i := range v {
			if list[i], isKnown = walk(v[i], leaf); !isKnown {
				return nil, false
			}
		}
		return list, true
	}
	return leaf(value)
}

func walkFields[K comparable](in map[K]any, leaf func(any) (any, bool)) (copied any, isKnown bool) {
	if in == nil {
		return leaf(nil)
	}
	fields := make(map[string]any, len(in))
	for key, value := range in {
		_, isPlain := leaf(key)
		name, isText := any(key).(string)
		if fields[name], isKnown = walk(value, leaf); !isKnown || !isPlain || !isText {
			return nil, false
		}
	}
	return fields, true
}
