package history

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/kube8/kube8-operator/internal/redact"
)

// maxShown is how long a value may be that is shown.
const maxShown = 60

// changesSince says what has changed in the spec since an earlier revision, or nil if that is not recorded. It shows no value that
// may be confidential.
func (r Revision) changesSince(before *Revision) []string {
	switch {
	case before == nil && r.Number == 1:
		return []string{"created"}
	case before == nil || before.values == nil || r.values == nil:
		return nil
	}
	from, to := normal(before.values), normal(r.values)
	if !reflect.DeepEqual(normal(before.defaults), normal(r.defaults)) { // of another chart: these were not changed
		from, to = without(from, normal(before.defaults), nil), without(to, normal(r.defaults), nil)
	}
	changes := changesOfFiles(asMap(from["collector"]), asMap(to["collector"]))
	if len(changes) == 0 && before.ConfigHash != r.ConfigHash {
		changes = []string{"configuration changed in its Secret"}
	}
	changes = append(append(changes, changesOfBases(before.bases, r.bases)...), r.changesOfChart(before)...)
	if changes = append(changes, changesOf("", nil, from, to)...); len(changes) == 0 {
		changes = []string{"nothing in the spec"}
	}
	if before.Number != r.Number-1 {
		changes[0] = fmt.Sprintf("since revision %d: %s", before.Number, changes[0])
	}
	return changes
}

// changesOfFiles takes configuration and further files out of two specs' collector, and says in how many lines they differ.
func changesOfFiles(from, to map[string]any) (changes []string) {
	before, after := takeFiles(from), takeFiles(to)
	for _, name := range slices.Sorted(maps.Keys(union(before, after))) {
		old, was := before[name]
		text, is := after[name]
		what := "file " + name
		if name == "" {
			what = "configuration"
		}
		switch {
		case old == text:
		case !was:
			changes = append(changes, what+" added")
		case !is:
			changes = append(changes, what+" removed")
		default:
			changes = append(changes, fmt.Sprintf("%s changed (%s)", what, lines(old, text)))
		}
	}
	return changes
}

// changesOfBases says which of the platform's bases have changed, by their versions.
func changesOfBases(from, to any) (changes []string) {
	before, after := byName(from), byName(to)
	for _, name := range slices.Sorted(maps.Keys(union(before, after))) {
		old, is := asMap(before[name])["version"], asMap(after[name])["version"]
		switch {
		case old == is:
		case old == nil:
			changes = append(changes, fmt.Sprintf("base %s added", name))
		case is == nil:
			changes = append(changes, fmt.Sprintf("base %s removed", name))
		default:
			changes = append(changes, fmt.Sprintf("base %s: %v → %v", name, old, is))
		}
	}
	return changes
}

// takeFiles takes the files out of a spec's collector. The configuration has no name.
func takeFiles(collector map[string]any) map[string]string {
	decoded := func(value any) string {
		text, _ := value.(string)
		if content, err := base64.StdEncoding.DecodeString(text); err == nil {
			return string(content)
		}
		return text
	}
	found := map[string]string{}
	text, _ := collector["configurationText"].(string)
	if text = cmp.Or(text, decoded(collector["configuration"])); text != "" {
		found[""] = text
	}
	for name, content := range asMap(collector["files"]) {
		found[name] = decoded(content)
	}
	for _, field := range []string{"configuration", "configurationText", "files"} {
		delete(collector, field)
	}
	return found
}

// lines says how many lines differ between two texts.
func lines(from, to string) string {
	n := 0
	for _, change := range difflib.NewMatcher(strings.SplitAfter(from, "\n"), strings.SplitAfter(to, "\n")).GetOpCodes() {
		if change.Tag != 'e' {
			n += max(change.I2-change.I1, change.J2-change.J1)
		}
	}
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// changesOf says what has changed in a field. path has the names of the fields that lead to it, and field is that for people.
func changesOf(field string, path []string, from, to any) (changes []string) {
	if reflect.DeepEqual(from, to) {
		return nil
	}
	before, isMap := from.(map[string]any)
	after, areMaps := to.(map[string]any)
	pattern := ".%s"
	if !isMap || !areMaps {
		before, after, pattern = byName(from), byName(to), "[%s]"
	}
	if before != nil && after != nil {
		for _, name := range slices.Sorted(maps.Keys(union(before, after))) {
			below := path // an item of a list has the path of the list
			if pattern == ".%s" {
				below = append(slices.Clone(path), name)
			}
			changes = append(changes, changesOf(strings.TrimPrefix(field+fmt.Sprintf(pattern, name), "."), below, before[name], after[name])...)
		}
		return changes
	}
	old, showsOld := shown(path, from)
	value, shows := shown(path, to)
	switch {
	case to == nil:
		return []string{field + " removed"}
	case from == nil && shows:
		return []string{field + " set to " + value}
	case from == nil:
		return []string{field + " added"}
	case shows && showsOld:
		return []string{field + ": " + old + " → " + value}
	}
	return []string{field + " changed"}
}

// byName returns the items of a list by their names, or nil if not each has one of its own.
func byName(value any) map[string]any {
	list, isList := value.([]any)
	if !isList {
		return nil
	}
	items := map[string]any{}
	for _, item := range list {
		if name, named := asMap(item)["name"].(string); named {
			items[name] = item
		}
	}
	if len(items) != len(list) {
		return nil
	}
	return items
}

// shown returns a value for people, and whether they may see it.
func shown(path []string, value any) (string, bool) {
	switch value := value.(type) {
	case nil, []any, map[string]any:
		return "", false
	case string:
		isPlain := !strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) // a line break would begin a row
		return value, value != "" && len(value) <= maxShown && isPlain && redact.Keeps(path)
	case float64: // the type of all numbers in JSON
		return strconv.FormatFloat(value, 'f', -1, 64), true
	}
	return fmt.Sprint(value), true
}

func union[V any](a, b map[string]V) map[string]V {
	all := map[string]V{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}
