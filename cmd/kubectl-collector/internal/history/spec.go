package history

import (
	"encoding/json"
	"maps"
	"reflect"
)

// Spec returns the Collector's spec of the revision, or nil if it was too large to be recorded. Values have the chart's defaults
// in them. A field that has its default is left out, unless current, the Collector's spec, says the same: either way
// the chart renders the same objects.
func (r Revision) Spec(current map[string]any) map[string]any {
	if r.values == nil {
		return nil
	}
	return without(r.values, r.defaults, normal(current))
}

// with returns values with defaults for the fields that they have not. A null is one that they have.
func with(values, defaults map[string]any) map[string]any {
	whole := maps.Clone(values)
	for name, value := range defaults {
		given, isSet := whole[name]
		part, isMap := given.(map[string]any)
		switch byDefault := asMap(value); {
		case !isSet:
			whole[name] = value
		case isMap && byDefault != nil:
			whole[name] = with(part, byDefault)
		}
	}
	return whole
}

// without returns values without what is in defaults and not in current.
func without(values, defaults, current map[string]any) map[string]any {
	left := map[string]any{}
	for name, value := range values {
		byDefault, hasDefault := defaults[name]
		now, isSet := current[name]
		nested, isMap := value.(map[string]any)
		switch {
		case isMap && hasDefault:
			part := without(nested, asMap(byDefault), asMap(now))
			if len(part) > 0 || isSet {
				left[name] = part
			}
		case !hasDefault || !reflect.DeepEqual(value, byDefault) || isSet && reflect.DeepEqual(value, now):
			left[name] = value
		}
	}
	return left
}

func asMap(value any) map[string]any {
	fields, _ := value.(map[string]any)
	return fields
}

// Same tells whether two specs say the same.
func Same(a, b map[string]any) bool { return reflect.DeepEqual(normal(a), normal(b)) }

// normal returns a spec as it is once it was written and read: with one type for all numbers.
func normal(spec map[string]any) (read map[string]any) {
	text, err := json.Marshal(spec)
	if err != nil || json.Unmarshal(text, &read) != nil {
		return spec
	}
	return read
}
