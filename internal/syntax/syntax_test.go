package syntax

import (
	"strings"
	"testing"
)

// Each text has the word hunter2, which no message may have.
func TestWhereAndWhyATextIsNotYAML(t *testing.T) {
	for name, row := range map[string]struct {
		text, want string
		anyFormat  bool // so that raw is no way out
	}{
		"a variable in a list":             {"a: [${hunter2}]\n", "line 1, column 5 has a variable", true}, // elastic/elastic-agent#108
		"a variable in a list, below":      {"a: 1\nb: 2\nc: [\"${hunter2}\", ${hunter2}]\nd: 4\n", "line 3, column 19 has a variable", true},
		"a variable after an apostrophe":   {"a: 1\nb: [é's, ${hunter2}, c's]\n", "line 2, column 10 has a variable", true},
		"a variable as a key":              {"a: 1\nb: {${hunter2}: 1}\n", "line 2, column 5 has a variable", true},
		"a statement on the first line":    {"{{- if hunter2 }}\na: b\n{{- end }}\n", "line 1 has a statement of a template", true},
		"a statement below":                {"a: 1\n\n{{- range hunter2 }}\n", "line 3 has a statement of a template", true},
		"a statement of Jinja":             {"{% if hunter2 %}\na: b\n", "line 1 has a statement of a template", true},
		"a template with text beside it":   {"a: {{ hunter2 }}b{{ c }}\n", "line 1 has {{ }} without quotes", true},
		"UTF-16 of PowerShell":             {"\xff\xfeh\x00u\x00", "line 1 is UTF-16", true}, // influxdata/telegraf#1378
		"UTF-16, the other way round":      {"\xfe\xff\x00h\x00u", "line 1 is UTF-16", true},
		"UTF-16 without a byte order mark": {"h\x00u\x00", "line 1 is UTF-16", true},
		"Latin-1":                          {"a: b\nhunter2: \xe9\n", "line 2 is not UTF-8", true},
		"a control character":              {"a: b\nhunter2: \x1b[0m\n", "line 2, column 10 has a control character", true},
		"a directive of YAML 2":            {"# a\n%YAML 2.0\n---\nhunter2: a\n", "line 2 has a directive", true},
		"a directive without ---":          {"%YAML 1.1\nhunter2: b\n", "line 1 has a directive", true},
		"a merge conflict":                 {"a: 1\n<<<<<<< HEAD\nb: hunter2\n=======\nb: 3\n>>>>>>> other\n", "line 2 has a mark of a merge conflict", true},
		"a merge conflict, below":          {"a:\n  b: 1\n<<<<<<< HEAD\n  c: hunter2\n=======\n  c: 3\n>>>>>>> other\n", "line 3 has a mark of a merge conflict", true},
		"text as gzip writes it":           {"\x1f\x8b\x08hunter2", "line 1 is not UTF-8", true},
		"the end of a file of DOS":         {"a: hunter2\n\x1a", "line 2, column 1 has a control character", true},
		"a variable with a port":           {"a: {hunter2: ${env:HOST}:4317}\n", "line 1, column 14 has a variable", true},
		"another directive":                {"%FOO hunter2\n---\na: b\n", "line 1 has a directive", true},

		"a tab as indentation":           {"a:\n\thunter2: b\n", "line 2, column 1 has a tab", false}, // istio/istio#13691
		"a comma that lacks in JSON":     {"{\n\t\"a\": {\n\t\t\"b\": {}\n\t\t\"hunter2\": 1\n\t}\n}\n", "line 2 has a [ or {", false},
		"a bracket by a quoted variable": {"a:\n  b: {c: \"${hunter2}:1\"\nd: {}\n", "line 2 has a [ or {", false},
		"a bracket below a template":     {"a: '{{ hunter2 }}'\nb: [c\n", "line 2 has a [ or {", false},
		"a bracket below a comment":      {"# {{ hunter2 }}\nb: [c # ${hunter2}\n", "line 2 has a [ or {", false},
		"a bracket beside an apostrophe": {"a: [\"it\\\"s ${hunter2}\", 'it''s ${hunter2}'\n", "line 1 has a [ or {", false},
		"a tab after spaces":             {"a:\n  b: c\n  \thunter2: d\n", "line 3, column 3 has a tab", false},
		"a list that is not closed":      {"a: 1\nb: [hunter2\n", "line 2 has a [ or {", false},
		"a list that is not closed, far": {"x: 1\na: [b,\nc: d\ne: f\n\n\nhunter2: 1\n", "line 2 has a [ or {", false},
		"a list that is not begun":       {"a: [\n", "line 1 has a [ or {", false},
		"a list that is begun, far":      {"x: 1\na: [\n  b, # c\n\n# hunter2\n", "line 2 has a [ or {", false},
		"a comma alone":                  {",", "line 1 has a bracket or a comma", false},
		"a comma too many":               {"a: 1\nb: , hunter2,\n", "line 2 has a bracket or a comma", false},
		"a bracket too many":             {"a: 1\nb: ]\n", "line 2 has a bracket or a comma", false},
		"a quote that is not closed":     {"a: 1\nb: \"hunter2\nc: d\ne: f\n", "line 2 has a quote that is not closed", false},
		"an apostrophe":                  {"a: 'hunter2\nc: d\n", "line 1 has a quote that is not closed", false},
		"text after a quote":             {"a: 1\nb: \"c\" hunter2\n", "line 2 does not go on", false},
		"text after a quote, far above":  {"a: 1\nb: \"c\" hunter2\n# d\n\ne: f\n", "line 2 does not go on", false},
		"text after a quote in a list":   {"a:\n  - \"b\" hunter2\n  - c\n", "line 2 is beside the items", false},
		"a bracket too many, above":      {"a: 1\nb: ]\nhunter2: d\n", "line 2 has a bracket or a comma", false},
		"a bracket too many, in a list":  {"a: [1,\n  2,\n  }]\nhunter2: d\n", "line 3 has a bracket or a comma", false},
		"a bracket too many, in JSON":    {"{\"a\":\n\n]\n, \"hunter2\": 1}\n", "line 3 has a bracket or a comma", false},
		"a star, above":                  {"a: 1\nb: *\nhunter2: d\n", "line 2 has a value that starts with * or &", false},
		"two colons":                     {"a: 1\nb: hunter2: c\n", "line 2 has a second colon", false}, // open-telemetry/opentelemetry-operator#3508
		"a key below a value":            {"a:\n  b: 1\n   hunter2: 2\n", "line 3 has a second colon", false},
		"a key that is indented less":    {"x: 1\na:\n  b: 1\n  c: 2\n hunter2: 3\ne: 4\n", "line 5 does not go on", false},
		"a key among items":              {"a:\n  - b\n  hunter2: 2\n", "line 3 is beside the items", false},
		"a line without a colon":         {"a: 1\nhunter2\nc: d\n", "line 2 is a key without a colon", false}, // helm/helm#2004
		"a reserved character":           {"a: 1\nb: @hunter2\n", "line 2 has a value that starts with", false},
		"a star":                         {"a: 1\nb: * hunter2\n", "line 2 has a value that starts with * or &", false}, // DandyDeveloper/charts#188
		"an alias without its anchor":    {"a: 1\nb: *hunter2\n", "line 2 has an alias", false},
		"an alias with another's begin":  {"a: &x-b 1\nb: *x-b\nhunter2: *x\n", "line 3 has an alias", false},
		"an alias that is quoted above":  {"a: '*hunter2' # *hunter2\nb:\n  - *hunter2\n  # c\n  - c\nd: e\n", "line 3 has an alias", false},
		"an alias in a list":             {"a: [\n  *hunter2\n  ,\n  b]\nc: d\n", "line 2 has an alias", false},
		"an alias as a key":              {"a: b\n*hunter2 : b\nc: d\n", "line 2 has an alias", false},
		"an alias on the last line":      {"a: b\nc: *hunter2", "line 2 has an alias", false},
		"an alias with a parser's word":  {"a: hunter2\nb: *unexpected\n", "line 2 has an alias", false},
		"a backslash":                    {"a: 1\nb: \"\\hunter2\"\n", "line 2 has a backslash", false},
		"text beside a block":            {"a: 1\nb: |hunter2\n  c\n", "line 2 has text after | or >", false},
		"a list on the line of its key":  {"a: 1\nb: - hunter2\n", "line 2 has a - where a value begins", false},
		"a tab after a dash":             {"x: 1\na:\n-\thunter2: b\n", "line 3, column 2 has a tab", false},
		"an exclamation mark":            {"a: 1\nb: !hunter2!c d\n", "line 2 has a value that starts with !", false},
		"an exclamation mark and <":      {"a: 1\nb: !<hunter2\n", "line 2 has a value that starts with !", false},
		"an exclamation mark and %":      {"a: 1\nb: !%hunter2\n", "line 2 has a value that starts with !", false},
		"two exclamation marks":          {"a: 1\nb: [!! hunter2]\n", "line 2 has a value that starts with !", false},
		"a regular expression with \\x":  {"a: 1\nb: \"\\xhunter2\"\n", "line 2 has an escape in double quotes", false},
		"a surrogate in double quotes":   {"a: 1\nb: \"\\ud800hunter2\"\n", "line 2 has an escape in double quotes", false},
		"an indentation of 0":            {"a: 1\nb: |0\n  hunter2\n", "line 2 has a 0 after | or >", false},
		"a character that is none":       {"a: 1\nb: hunter2\ufffe\n", "line 2 has a character that YAML does not allow", false},
		"a file of TOML":                 {"[agent]\n  hunter2 = \"10s\"\n", "line 2 has text after the end", false},
		"line ends of Windows":           {"a: 1\r\nb: [hunter2\r\n", "line 2 has a [ or {", false},
		"a byte order mark":              {"\ufeffa: 1\nb: [hunter2\n", "line 2 has a [ or {", false},
		"levels without an end":          {"a:\n  b: " + strings.Repeat("[", 20000), "line 2 is nested too deep", false},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(row.text)
			wrong, is := err.(*Error) //nolint:errorlint // it is not wrapped
			if !is {
				t.Fatalf("got %v", err)
			}
			if !strings.HasPrefix(err.Error(), row.want) || wrong.AnyFormat != row.anyFormat || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got  %s (in any format: %t)\nwant %s (%t)", err, wrong.AnyFormat, row.want, row.anyFormat)
			}
		})
	}
}

func TestWhatIsYAML(t *testing.T) {
	for _, text := range []string{"", "# a\n", "a: b\n---\nc: d\n", "\ufeffa: b\r\n", "%YAML 1.1\n---\na: b\n...\n", "a\tb: c\t# d\n"} {
		if err := Check(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
