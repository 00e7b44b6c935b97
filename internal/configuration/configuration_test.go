package configuration

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

func TestWhatIsRefused(t *testing.T) {
	const prefix = "spec.collector.configuration: "
	const notBase64 = "not base64, or base64 with spaces or cut off; encode the file with `base64 -w0`"
	tests := map[string]struct{ format, data, want string }{
		"bytes outside the base64 alphabet":  {data: `"cmVj*ZWl2"`, want: notBase64},
		"base64 with spaces":                 {data: `"cmVj ZWl2"`, want: notBase64},
		"base64 that was cut off":            {data: `"cmVjZW"`, want: notBase64},
		"YAML in place of base64":            {data: `"receivers: {}\n"`, want: notBase64},
		"nothing":                            {data: `""`, want: "empty; leave the field out, or set it to the file, encoded with `base64 -w0`"},
		"nothing but a line break":           {data: `"\n"`, format: "raw", want: notBase64},
		"base64 longer than the API allows":  {data: `"` + strings.Repeat("\n", 360<<10) + `YQ=="`, want: "may not be more than 368640 bytes; leave out line breaks"},
		"base64 in the URL-safe alphabet":    {data: `"YTogYmM_Cg=="`, want: "URL-safe base64; encode the file with `base64 -w0`, which writes + and / for - and _"},
		"base64 of base64":                   {data: encode(encode("receivers: {}\n")), want: "base64 once more when decoded; encode the file once"},
		"base64 of base64 with line breaks":  {data: encode("cmVjZWl2\nZXJzOiB7fQo=\n"), want: "base64 once more when decoded; encode the file once"},
		"a configuration of comments":        {data: encode("# receivers: {}\n"), want: "empty when decoded; write a YAML mapping, or set format to raw if the file is not YAML"},
		"a list":                             {data: encode("\n- secret\n"), want: `line 2 is not a YAML mapping; start with a key such as "receivers:", or set format to raw if the file is not YAML`},
		"a scalar":                           {data: encode("a secret"), want: `line 1 is not a YAML mapping; start with a key such as "receivers:", or set format to raw if the file is not YAML`},
		"broken YAML":                        {data: encode("a: 1\nb: [secret\n"), want: "line 2 has a [ or { that is not closed, or a value in it that needs quotes; close it, or put quotes around the value, or set format to raw if the file is not YAML"},
		"a tab as indentation":               {data: encode("a:\n\tsecret: c\n"), want: "line 2, column 1 has a tab, and YAML is indented by spaces; replace it, or set format to raw if the file is not YAML"},
		"a duplicate key":                    {data: encode("exporters:\n  secret: 1\n  secret: 2\n"), want: "duplicate key near line 3; remove it, or set format to raw if the file is not YAML"},
		"a value that does not fit its tag":  {data: encode("secret: !!int foo\n"), want: "value or key of the wrong type near line 1; correct it, or set format to raw if the file is not YAML"},
		"an unknown anchor":                  {data: encode("a: 1\nb: *secret\n"), want: "line 2 has an alias without its anchor; put quotes around a value that starts with *, or set format to raw if the file is not YAML"},
		"two documents":                      {data: encode("a: 1\n---\nsecret: 2\n"), want: "more than one YAML document; keep one, or set format to raw if the file is not YAML"},
		"a NUL byte":                         {data: encode("a: 1\nsecret: \x00\n"), want: "line 2 has a NUL byte; remove it"},
		"a control character":                {data: encode("a: 1\nsecret: \x1b[0m\n"), want: "line 2, column 9 has a control character; remove it"},
		"Latin-1":                            {data: encode("a: 1\nb: 2\nsecret: caf\xe9\n"), want: "line 3 is not UTF-8; save the file as UTF-8"},
		"UTF-16":                             {data: encode("\xff\xfea\x00:\x00 \x00b\x00\n\x00"), want: "line 1 is UTF-16; save the file as UTF-8"},
		"nesting that is too deep":           {data: encode("a:\n  b: " + strings.Repeat("[", 20000)), want: "line 2 is nested too deep; use fewer levels, or set format to raw if the file is not YAML"},
		"a template as a value":              {data: encode("a: 1\nb:\n  secret: {{ .Values.secret }}\n"), want: "line 3 has {{ }} without quotes, which YAML reads as a mapping; put quotes around the value"},
		"a template as a part of a value":    {data: encode("a: 1\nsecret: {{ .Values.secret }}:4317\n"), want: "line 2 has {{ }} without quotes, which YAML reads as a mapping; put quotes around the value"},
		"a template as a line":               {data: encode("a: 1\n{{ if .secret }}\nb: 2\n{{ end }}\n"), want: "line 2 has a statement of a template, which the operator does not run; write the text that it makes"},
		"aliases that expand without an end": {data: encode(bomb()), want: "line 2 has the first of aliases that expand too far; write out what they stand for, or set format to raw if the file is not YAML"},
		"a configuration over the limit, in any format": {
			format: "raw",
			data:   encode(strings.Repeat("x", MaxBytes+1)),
			want:   "more than 262144 bytes when decoded; shorten it",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.format == "" {
				test.format = "yaml"
			}
			data := strings.ReplaceAll(strings.Trim(test.data, `"`), `\n`, "\n")
			err := Prepare(valuesOf(test.format, data))
			if err == nil || err.Error() != prefix+test.want {
				t.Errorf("got error  %v\nwant error %s%s", err, prefix, test.want)
			}
		})
	}
}

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func valuesOf(format, configuration string) map[string]any {
	return map[string]any{"collector": map[string]any{"format": format, "configuration": configuration}}
}

func TestATextIsCheckedAsItStands(t *testing.T) {
	for name, row := range map[string]struct{ format, text, want string }{
		"a mapping":                      {"yaml", "a: b\n", ""},
		"what its collector understands": {"raw", "[PARSER]\n", ""},
		"a NUL byte in raw":              {"raw", "a\x00b", ""},
		"base64 in raw":                  {"raw", "cmVjZWl2ZXJzOiB7fQo=", ""},
		"nothing":                        {"raw", "", "empty; leave the field out, or set it to the content of the file"},
		"base64":                         {"yaml", "cmVjZWl2\nZXJzOiB7fQo=\n", "base64; set configuration to it instead, or set format to raw"},
		"broken YAML":                    {"yaml", "a: [secret\n", "line 1 has a [ or { that is not closed, or a value in it that needs quotes; close it, or put quotes around the value, or set format to raw if the file is not YAML"},
		"more bytes than letters":        {"raw", strings.Repeat("é", MaxBytes/2+1), "more than 262144 bytes; shorten it"},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[string]any{"collector": map[string]any{"format": row.format, "configurationText": row.text}}
			got := ""
			if err := Prepare(values); err != nil {
				got = strings.TrimPrefix(err.Error(), "spec.collector.configurationText: ")
			}
			if got != row.want {
				t.Errorf("got error %q, want %q", got, row.want)
			}
		})
	}
	health := map[string]any{"collector": map[string]any{"format": "yaml", "configurationText": "extensions: {health_check: {endpoint: \"0.0.0.0:9\"}}\n" +
		"service: {extensions: [health_check]}\n"}}
	if err := Prepare(health); err != nil || health["healthCheck"] == nil {
		t.Errorf("no health check in %v, %v", health, err)
	}
}

func TestABaseCanTakeTheHealthCheckAway(t *testing.T) {
	const own = "extensions: {health_check/a: {endpoint: \"0.0.0.0:9\"}}\nservice: {extensions: [health_check/a]}\n"
	for name, row := range map[string]struct {
		position, file, content string
		want                    string // path and port
	}{
		"by other extensions of the service":        {"last", "b.yaml", "service: {extensions: [pprof]}", ""},
		"by no extensions of the service":           {"last", "b.yml", "service: {extensions: }", ""},
		"by an endpoint that no probe reaches":      {"last", "b.yaml", "extensions: {health_check/a: {endpoint: 'localhost:9'}}", ""},
		"by TLS":                                    {"last", "b.yaml", "extensions: {health_check/a: {tls: {cert_file: a}}}", ""},
		"by defaults":                               {"last", "b.yaml", "extensions: {health_check/a: }", ""},
		"not by another port, which has the probes": {"last", "b.yaml", "extensions: {health_check/a: {endpoint: '0.0.0.0:7'}}", "/ 7"},
		"not by another path, which has the probes": {"last", "b.yaml", "extensions: {health_check/a: {path: /b}}", "/b 9"},
		"not by the same extension among others":    {"last", "b.yaml", "a: &a health_check/a\nservice: {extensions: [pprof, *a]}", "/ 9"},
		"not by another extension":                  {"last", "b.yaml", "extensions: {health_check: {}}\nservice: {pipelines: {}}", "/ 9"},
		"not by what comes first":                   {"first", "b.yaml", "service: {extensions: [pprof]}", "/ 9"},
		"not by a path of what comes first":         {"first", "b.yaml", "extensions: {health_check/a: {path: /b}}", "/b 9"},
		"not by another port of what comes first":   {"first", "b.yaml", "extensions: {health_check/a: {endpoint: '0.0.0.0:7'}}", "/ 9"},
		"by TLS of what comes first":                {"first", "b.yaml", "extensions: {health_check/a: {tls: {cert_file: a}}}", ""},
		"not by another language":                   {"last", "b.conf", "service: {extensions: [pprof]}", "/ 9"},
		"not by a list":                             {"last", "b.yaml", "[a]", "/ 9"},
	} {
		values := map[string]any{
			"collector": map[string]any{"format": "yaml", "configurationText": own, "fileName": "config.yaml"},
			"bases":     []any{map[string]any{"name": "b", "file": row.file, "position": row.position, "content": encode(row.content)}},
		}
		if err := Prepare(values); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := ""
		if found, isSet := values["healthCheck"].(map[string]any); isSet {
			got = fmt.Sprintf("%v %v", found["path"], found["port"])
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

func TestAFurtherFileCanTakeTheHealthCheckAway(t *testing.T) {
	const own = "extensions: {health_check: {endpoint: \"0.0.0.0:9\"}}\nservice: {extensions: [health_check]}\n"
	files := map[string]any{"extra.yaml": encode("service: {extensions: [pprof]}"), "more/port": encode("extensions: {health_check: {endpoint: ':7'}}")}
	for name, row := range map[string]struct {
		args string
		port any // of the probes
	}{
		"behind its own":                      {"--config=/etc/collector/config.yaml --config=/etc/collector/extra.yaml", nil},
		"behind its own, in two words":        {"--config file:/etc/collector/config.yaml --config file:/etc/collector/extra.yaml", nil},
		"by a variable":                       {"--config=/etc/collector/config.yaml --config=$(EXTRA)", nil},
		"not by another port":                 {"--config=/etc/collector/config.yaml --config=/etc/collector/more/port", 7},
		"not before its own":                  {"--config=/etc/collector/extra.yaml --config=/etc/collector/config.yaml", 9},
		"not without an option for its own":   {"-c /etc/collector/config.yaml --config=/etc/collector/extra.yaml", 9},
		"not by the only file":                {"--config=/etc/collector/config.yaml --set=a=b", 9},
		"by what only the pods know":          {"--config=/etc/collector/config.yaml --config=env:EXTRA", nil},
		"by a file of the image":              {"--config=/etc/collector/config.yaml --config=/conf/extra.yaml", nil},
		"not by what only they know, before":  {"--config=/conf/extra.yaml --config=/etc/collector/config.yaml", 9},
		"by one of several that is not known": {"--config=/etc/collector/config.yaml --config=env:A --config=/etc/collector/more/port", nil},
		"not by a text about something else":  {"--config=/etc/collector/config.yaml --config=yaml:exporters::debug::verbosity:basic", 9},
		"by a text about extensions":          {"--config=/etc/collector/config.yaml --config=yaml:service::extensions:[pprof]", nil},
		"not by a base that moves the port":   {"--config=/etc/collector/config.yaml --config=/etc/collector/team.yaml", 8},
	} {
		var args []any
		for word := range strings.FieldsSeq(row.args) {
			args = append(args, word)
		}
		values := map[string]any{
			"collector": map[string]any{"format": "yaml", "configurationText": own, "fileName": "config.yaml", "files": files},
			"args":      args, "env": []any{map[string]any{"name": "EXTRA", "value": "/etc/collector/extra.yaml"}},
		}
		if strings.Contains(row.args, "team.yaml") {
			base := map[string]any{"file": "team.yaml", "content": encode("extensions: {health_check: {endpoint: ':8'}}")}
			values["bases"] = []any{base}
		}
		err := Prepare(values)
		if found, _ := values["healthCheck"].(map[string]any); err != nil || found["port"] != row.port {
			t.Errorf("%s: probes %v, %v", name, found, err)
		}
	}
}

func TestAHealthCheckOfAVariableHasProbesUnlessItIsLocal(t *testing.T) {
	named := func(host string) string {
		return "extensions: {health_check: {endpoint: \"" + host + ":9\"}}\nservice: {extensions: [health_check]}\n"
	}
	variable := func(fields map[string]any) []any {
		fields["name"] = "HOST"
		return []any{map[string]any{"name": "OTHER", "value": "localhost"}, fields}
	}
	for name, row := range map[string]struct {
		host         string
		env, envFrom []any
		want         bool
	}{
		"a default that is local":                           {host: "${env:HOST:-localhost}"},
		"a default that is a local address":                 {host: "${env:HOST:-127.0.0.1}"},
		"a default that is a local address, IPv6":           {host: "${env:HOST:-[::1]}"},
		"a default that is local, and another variable":     {host: "${env:HOST:-localhost}", env: variable(map[string]any{})[:1]},
		"a value that is local":                             {host: "${env:HOST:-0.0.0.0}", env: variable(map[string]any{"value": "localhost"})},
		"a value that is local, without a default":          {host: "${env:HOST}", env: variable(map[string]any{"value": "localhost"})},
		"a value that is local, without the scheme":         {host: "${HOST}", env: variable(map[string]any{"value": "localhost"})},
		"a default of all interfaces":                       {host: "${env:HOST:-0.0.0.0}", want: true},
		"a default that is local, and a value that is not":  {host: "${env:HOST:-localhost}", env: variable(map[string]any{"value": "0.0.0.0"}), want: true},
		"a default that is local, and the address of a pod": {host: "${env:HOST:-localhost}", env: variable(map[string]any{"valueFrom": nil}), want: true},
		"a default that is local, and what is not known":    {host: "${env:HOST:-localhost}", envFrom: []any{map[string]any{}}, want: true},
		"no default": {host: "${env:HOST}", want: true},
	} {
		values := map[string]any{
			"collector": map[string]any{"format": "yaml", "configurationText": named(row.host)}, "env": row.env, "envFrom": row.envFrom,
		}
		if err := Prepare(values); err != nil || (values["healthCheck"] != nil) != row.want {
			t.Errorf("%s: health check %v, %v", name, values["healthCheck"], err)
		}
	}
}

// bomb is a small document whose aliases stand for billions of values.
func bomb() string {
	var text strings.Builder
	fmt.Fprintf(&text, "a0: &a0 [%sx]\n", strings.Repeat("x,", 9))
	for level := range 9 {
		fmt.Fprintf(&text, "a%d: &a%d [%s]\n", level+1, level+1, strings.Repeat(fmt.Sprintf("*a%d,", level), 9))
	}
	return text.String()
}

func TestWhatIsAccepted(t *testing.T) {
	for name, text := range map[string]string{
		"the smallest configuration whose base64 has a +": "a: bc?\n",
		"a byte order mark":                         "\ufeffa: b\n",
		"a byte order mark before a comment":        "\ufeff# receivers\na: b\n",
		"line ends of Windows":                      "a: b\r\nc: d\r\n",
		"letters of any script":                     "a: \"é ß 日本 \U0001F600\"\n",
		"a quoted template":                         "a: '{{ .x }}'\n",
		"the largest configuration":                 "a: " + strings.Repeat("?", MaxBytes-4) + "\n",
		"a document start and end":                  "%YAML 1.1\n---\na: b\n...\n",
		"a directive of YAML 1.2":                   "\ufeff# a\n%YAML 1.2\n---\na: b\n",
		"a replacement character of the file's own": "a: \ufffd\n",
		"a tag that only its collector knows":       "a: !secret b\n",
	} {
		t.Run(name, func(t *testing.T) {
			if err := Prepare(valuesOf("yaml", encode(text))); err != nil {
				t.Error(err)
			}
		})
	}
}
