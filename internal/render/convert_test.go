package render

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/helm"
)

func TestWhatLeavesOutJSONIsAsWithJSON(t *testing.T) {
	for _, value := range []any{
		nil, true, "", "yes", "1e3", "0x1", "012", "null", "~", "- a", "a: b", "# a", " a ", "a\nb\n", "\ta", "a\r\nb", "<&>", "\u2028", "\u00a0", "é", "😀",
		"2020-01-01", "a\x7f", "a\xff", "\x00", "=", "<<", "*a", 1, int64(-2), 3.0, 3.5, math.Copysign(0, -1), 1e6, 1e20, 1e21, 1e300,
		int64(1<<53 + 1), int64(math.MaxInt64), uint64(math.MaxUint64), json.Number("1.0"), math.Inf(1), []string{"a"}, []any{}, []any(nil),
		map[string]any{}, map[string]any(nil), helm.Values(nil), helm.Values{"a": 1.0}, map[string]string{"b": "1"},
		map[string]any{"b": 1, "a10": 2, "a9": 3, "y": 4, "1": 5, "\x7f": 6}, struct {
			A int `json:"b"`
		}{1},
	} {
		for _, value := range []any{value, map[string]any{"a": value, "b": []any{value, value}}} {
			want, failed := yaml.Marshal(value)
			got, err := toYAML(value)
			if (err == nil) != (failed == nil) || string(got) != string(want) {
				t.Errorf("%#v: %q, error %v, want %q, error %v", value, got, err, want, failed)
			}
			compareFromYAML(t, string(want))
		}
	}
	for _, text := range []string{
		"a: 1\n1: b\n", "true: a", "1.5: a", "? [a]\n: b", "a: 9007199254740993", "a: 18446744073709551615", "a: .inf", "a: .nan", "a: !!binary /w==", "!!binary /w==: a",
		"a: on\nb: 0o17\nc: 017\nd: 1_000\ne: 0x1F\nf: 1e3\ng: 12:30:45", "a: 2020-01-01", "a: \"\\x7f\\u0000\"", "a: &b {c: d}\ne: *b\nf: {<<: *b}",
		"a: 1\na: 2", "- a", "a", "", "# a", "a: [", "a: 1\n---\nb: 2", "a: !!int \"3\"\nb: !x y", "a: \xff", "{a: {b: [1, {c: null}]}}", "a: -0\nb: -0.0",
		"a: &a [*a]", "null", "\ufeffa: b",
	} {
		compareFromYAML(t, text)
	}
}

func compareFromYAML(t *testing.T, text string) {
	t.Helper()
	var want map[string]any
	wantJSON, failed := yaml.YAMLToJSON([]byte(text))
	if failed == nil {
		failed = json.Unmarshal(wantJSON, &want)
	}
	got, gotJSON, err := fromYAML(text)
	if err == nil && gotJSON == nil {
		gotJSON, err = json.Marshal(got)
	}
	if (err == nil) != (failed == nil) || err == nil && (cmp.Diff(want, got) != "" || string(gotJSON) != string(wantJSON)) {
		t.Errorf("%q: %#v and %s, error %v, want %#v and %s, error %v", text, got, gotJSON, err, want, wantJSON, failed)
	}
}

func TestValuesAreCoalescedAsHelmDoes(t *testing.T) {
	made := chartOf("a: b")
	made.Values = map[string]any{"a": 1.0, "b": map[string]any{"c": 2.0, "d": map[string]any{"e": []any{map[string]any{"f": 3.0}}}}, "n": nil}
	c, err := NewChart(made)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "a: null", "a: {b: 1}", "b: null", "b: 1", "b: {c: null}", "b: {d: {e: null, g: null}, h: null}", "b: {d: {e: []}}", "b: {d: 1}", "n: null", "n: 1",
		"z: {y: null, x: [1]}", "z: null",
	} {
		var given helm.Values
		if err := yaml.Unmarshal([]byte(text), &given); err != nil {
			t.Fatal(err)
		}
		want, err := helm.Coalesce(made, given)
		if err != nil {
			t.Fatal(err)
		}
		before := fmt.Sprint(given, made.Values)
		got := c.coalesce(given)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
		spoil(got)
		if after := fmt.Sprint(given, made.Values); after != before {
			t.Errorf("%s: changed %s to %s", text, before, after)
		}
	}
}

// spoil changes all maps in a value.
func spoil(value any) {
	switch v := value.(type) {
	case helm.Values:
		spoil(map[string]any(v))
	case map[string]any:
		for _, field := range v {
			spoil(field)
		}
		v["spoiled"] = true
	case []any:
		for _, entry := range v {
			spoil(entry)
		}
	}
}

func TestExpressionsMatchAsSprigsDo(t *testing.T) {
	match := regexMatch()
	for i := range 300 {
		for _, expression := range []string{"^a+$", "(", fmt.Sprintf("^a{%d}$", i)} {
			want, _ := regexp.MatchString(expression, "aaa")
			for range 2 {
				if match(expression, "aaa") != want {
					t.Errorf("%s matches otherwise", expression)
				}
			}
		}
	}
}
