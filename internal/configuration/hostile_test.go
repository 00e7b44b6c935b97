package configuration

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kube8/kube8-operator/test/cputime"
)

// hostile are configurations of the largest size. Each costs a reader of YAML as much as it can in one way.
func hostile() map[string]string {
	fill := func(begin, unit, end string) string {
		return begin + strings.Repeat(unit, (MaxBytes-len(begin)-len(end))/len(unit)) + end
	}
	count := func(begin string, unit func(int) string, end string) string {
		var text strings.Builder
		text.WriteString(begin)
		for i := 0; text.Len()+len(unit(i))+len(end) <= MaxBytes; i++ {
			text.WriteString(unit(i))
		}
		return text.String() + end
	}
	nested := func(open, closing string) string {
		return "a: " + strings.Repeat(open, 9000) + strings.Repeat(closing, 9000)
	}
	return map[string]string{
		"a list of the shortest values":       fill("a: [", "x,", "]"),
		"a list of empty mappings":            fill("a: [", "{},", "]"),
		"a list of lines":                     fill("a:\n", "- x\n", ""),
		"a list of nothing":                   fill("a:\n", "-\n", ""),
		"lists in lists on a line":            fill("a:\n", "- - - - - - - - x\n", ""),
		"keys":                                count("", func(i int) string { return fmt.Sprintf("%x:\n", i) }, ""),
		"keys on a line":                      count("{", func(i int) string { return fmt.Sprintf("%x: ,", i) }, "}"),
		"keys, one twice":                     count("", func(i int) string { return fmt.Sprintf("%x:\n", i) }, "0: 1\n"),
		"one key again and again":             fill("", "a:\n", ""),
		"keys that are asked for":             fill("{", "?,", "}"),
		"keys that are mappings":              fill("", "? {a: b}\n: c\n", ""),
		"lists in lists":                      nested("[", "]"),
		"lists in lists that do not end":      fill("a: ", "[", ""),
		"mappings in mappings":                nested("{a: ", "}"),
		"mappings in mappings by columns":     count("", func(i int) string { return strings.Repeat(" ", i) + "a:\n" }, ""),
		"lists in lists by columns":           fill("a:\n", "- ", "x"),
		"keys in keys":                        fill("", "? ", "x"),
		"a long string with aliases":          "a: &a " + strings.Repeat("x", 200<<10) + "\nb: [" + strings.Repeat("*a,", 2000) + "]\n",
		"aliases of an empty list":            fill("a: &a []\nb: [", "*a,", "]"),
		"aliases of aliases":                  bomb(),
		"a chain of aliases":                  count("a: &0 [x]\n", func(i int) string { return fmt.Sprintf("k%x: &%x [*%x]\n", i, i+1, i) }, ""),
		"an alias in what it stands for":      "a: &a [b, *a]\n",
		"a mapping that merges itself":        "a: &a {b: c, <<: *a}\n",
		"a chain of merges":                   count("a: &0 {x: y}\n", func(i int) string { return fmt.Sprintf("k%x: &%x {<<: *%x, z%x: 1}\n", i, i+1, i, i) }, ""),
		"merges of merges":                    merges(),
		"anchors":                             count("a: [", func(i int) string { return fmt.Sprintf("&%x x,", i) }, "]"),
		"one anchor again and again":          fill("a: [", "&a x,", "]"),
		"tags":                                fill("a: [", "!!str x,", "]"),
		"tags of the collector's own":         fill("a: [", "!a x,", "]"),
		"handles of tags":                     count("", func(i int) string { return fmt.Sprintf("%%TAG !%x! tag:example.com,2026:\n", i) }, "---\na: b\n"),
		"a long prefix of tags":               fill("%TAG ! tag:"+strings.Repeat("x", 120<<10)+"\n---\na: [", "!b ,", "]\n"),
		"a prefix of tags after other breaks": "# a\u2028\ufeff%TAG ! tag:" + strings.Repeat("x", 20<<10) + "\n---\na: [" + strings.Repeat("!b ,", 3000) + "]\n",
		"comments":                            fill("", "#\n", "a: b\n"),
		"comments between keys":               count("", func(i int) string { return fmt.Sprintf("#\n%x:\n#\n\n", i) }, ""),
		"comments at the end of lines":        fill("a:\n", "- x # y\n", ""),
		"comments in a list":                  fill("a: [\n", "x, # y\n", "]\n"),
		"comments that are indented":          fill("a:\n", "  - x\n   # y\n", ""),
		"a comment without an end":            fill("a: b #", "#", "\n"),
		"lines without anything":              fill("a: b\n", "\n", ""),
		"a string over lines":                 fill("a: ", "x\n ", "\n"),
		"a string over lines, in quotes":      fill("a: \"", "x\n ", "\"\n"),
		"a string of escapes":                 fill("a: \"", "\\n", "\"\n"),
		"a string of long escapes":            fill("a: \"", "\\U0001F600", "\"\n"),
		"a string of quotes":                  fill("a: '", "''", "'\n"),
		"a block of lines":                    fill("a: |\n", " x\n", ""),
		"a block of folded lines":             fill("a: >\n", " x\n\n", ""),
		"a quote that does not end":           fill("a: \"", "x ", ""),
		"spaces":                              fill("a: b\n", " ", "\n"),
		"a long key":                          fill("", "a", ": b\n"),
		"a long key in a list":                fill("[", "a ", ": b]\n"),
		"numbers":                             fill("a: [", "1,", "]"),
		"long numbers":                        fill("a: ", "1", "\n"),
		"times":                               fill("a: [", "2026-01-01,", "]"),
		"documents":                           fill("", "---\na: b\n", ""),
		"documents that end":                  fill("", "a: b\n...\n", ""),
		"templates":                           fill("", "{{a}}\n", ""),
		"templates as values":                 fill("a: [", "{{a}},", "]"),
		"base64":                              fill("", "YWFh", ""),
		"extensions that are enabled":         enabled("health_check/%x: {},", "health_check/%x,"),
		"extensions that are enabled, often":  enabled("health_check/%x: {},", "health_check/0,"),
		"extensions that are one":             enabled("health_check/%x: *a,", "health_check/%x,"),
	}
}

// merges is a mapping that is merged from mappings that are merged.
func merges() string {
	var text strings.Builder
	text.WriteString("a0: &a0 {x: y}\n")
	for level := range 16 {
		fmt.Fprintf(&text, "a%d: &a%d {<<: [*a%[3]d, *a%[3]d]}\n", level+1, level+1, level)
	}
	return text.String() + "extensions: *a16\nservice: {extensions: [health_check]}\n"
}

func enabled(extension, name string) string {
	var extensions, names strings.Builder
	for i := 0; extensions.Len()+names.Len() < MaxBytes-30<<10; i++ {
		fmt.Fprintf(&extensions, strings.ReplaceAll(extension, "%x", "%[1]x"), i)
		fmt.Fprint(&names, strings.ReplaceAll(name, "%x", fmt.Sprintf("%x", i)))
	}
	return "a: &a {a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: 9}\nextensions: {" + extensions.String() + "}\nservice: {extensions: [" + names.String() + "]}\n"
}

// On 58021a2, the keys with one twice took 25 s, and the long string with aliases all memory.
func TestNoConfigurationCostsMuch(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := cputime.Own()
			_, err := Check([]byte(text), "yaml")
			took := cputime.Own() - begin
			runtime.ReadMemStats(&after)
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("%d bytes, %s, %d MiB, %v", len(text), took, allocated, err)
			if len(text) > MaxBytes || took > 2*time.Second || allocated > 128 {
				t.Errorf("%d bytes took %s and %d MiB", len(text), took, allocated)
			}
		})
	}
}
