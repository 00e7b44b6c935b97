package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	goyaml "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/internal/postrender"
	"github.com/kube8/kube8-operator/internal/specpath"
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

// fromDocument reads an object as JSON has it. It returns the JSON too, if it has gone through that.
func fromDocument(document postrender.Document) (object map[string]any, asJSON []byte, err error) {
	if document.Node != nil {
		value, isSure := fromNode(document.Node)
		if object, isObject := value.(map[string]any); isSure && isObject {
			return object, nil, nil
		}
	}
	return fromYAML(document.Text)
}

// fromYAML is fromDocument for a text. As toYAML does, it leaves out JSON as far as it can.
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
	return object, nil, nil
}

// convert returns a value as JSON has it, with all numbers as floating ones or all as integers. It does not know all values.
func convert(value any, floats bool) (converted any, isKnown bool) {
	return walk(value, func(leaf any) (any, bool) {
		var number float64
		switch v := leaf.(type) {
		case nil, bool:
			return v, true
		case string:
			return v, isPrintable(v)
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

// coalesce is helm.Coalesce for a chart that has no others in it. That one copies by reflection, which takes some times as much.
func (c *Chart) coalesce(given map[string]any) helm.Values {
	same := func(leaf any) (any, bool) { return leaf, true }
	copied, _ := walk(given, same)
	coalesced, _ := copied.(map[string]any)
	if coalesced == nil {
		coalesced = map[string]any{}
	}
	for field, value := range c.Values {
		value, _ = walk(value, same)
		found, isSet := coalesced[field]
		table, isTable := found.(map[string]any)
		defaults, hasDefaults := value.(map[string]any)
		switch {
		case !isSet:
			coalesced[field] = value
		case found == nil:
			delete(coalesced, field)
		case isTable && hasDefaults:
			helm.CoalesceTables(table, defaults)
		}
	}
	return coalesced
}

// longestKey is how many bytes a key may have. YAML reads none back of more than 1,024 characters, and Helm's toYaml leaves out all that is
// beside it then.
const longestKey = 1000

// checkKeys refuses values that have a longer key.
func checkKeys(values map[string]any) error {
	for _, field := range slices.Sorted(maps.Keys(values)) {
		if hasLongKey(values[field]) {
			return specpath.Refuse(field, fmt.Sprintf("has a key of more than %d characters; shorten it", longestKey))
		}
	}
	return nil
}

func hasLongKey(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if len(key) > longestKey || hasLongKey(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasLongKey)
	}
	return false
}

// checkScrapes demands of monitors that a scrape has no more time than until the next one: the Prometheus operator leaves out any other
// monitor, and tells its owner nothing.
func checkScrapes(values map[string]any) error {
	for _, field := range []string{"serviceMonitor", "podMonitor"} {
		monitor, _ := values[field].(map[string]any)
		interval, wrong := model.ParseDuration(fmt.Sprint(monitor["interval"]))
		timeout, err := model.ParseDuration(fmt.Sprint(monitor["scrapeTimeout"]))
		if monitor["enabled"] == true && wrong == nil && err == nil && timeout > interval {
			return specpath.Refuse(field+".scrapeTimeout", fmt.Sprintf("%s is more than the interval %s, so the Prometheus operator ignores "+
				"the monitor; set at most the interval", monitor["scrapeTimeout"], monitor["interval"]))
		}
	}
	return nil
}

// isPrintable tells whether YAML, JSON and Go agree about a text.
func isPrintable(text string) bool {
	isOdd := func(char rune) bool { return !unicode.IsPrint(char) && char != '\n' && char != '\t' }
	return utf8.ValidString(text) && !strings.ContainsFunc(text, isOdd)
}

// walk returns a copy of a value, with what a function makes of each key and of what is neither a map nor a list, if it knows them.
func walk(value any, leaf func(any) (any, bool)) (copied any, isKnown bool) {
	switch v := value.(type) {
	case helm.Values:
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
