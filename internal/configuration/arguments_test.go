package configuration

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The spellings are those of https://opentelemetry.io/docs/collector/configuration/, opentelemetry-collector#8754 and
// sumologic-otel-collector#708, https://docs.influxdata.com/telegraf/, https://vector.dev/docs/reference/cli/ and the vendors of
// docs/how-to/bases.md.
func TestArgumentsNameTheFilesOfBases(t *testing.T) {
	const own, first, last = "/etc/collector/config.yaml", "/etc/collector/base-limits.yaml", "/etc/collector/base-gateway.yaml"
	for name, row := range map[string]struct {
		values string // beside collector and bases
		own    string // the configuration
		want   []string
		lost   bool
	}{
		"there are none":                        {"", "", []string{"--config=" + first, "--config=" + own, "--config=" + last}, false},
		"one word":                              {"args: [a, --config=/etc/collector/config.yaml, b]", "", []string{"a", "--config=" + first, "--config=" + own, "--config=" + last, "b"}, false},
		"two words":                             {"args: [a, --config, /etc/collector/config.yaml, b]", "", []string{"a", "--config", first, "--config", own, "--config", last, "b"}, false},
		"one dash":                              {"args: [-config, /etc/collector/config.yaml]", "", []string{"-config", first, "-config", own, "-config", last}, false},
		"one word with a scheme":                {"args: ['--config=file:/etc/collector/config.yaml']", "", []string{"--config=file:" + first, "--config=file:" + own, "--config=file:" + last}, false},
		"two words with a scheme":               {"args: [--config, 'file:/etc/collector/config.yaml']", "", []string{"--config", "file:" + first, "--config", "file:" + own, "--config", "file:" + last}, false},
		"a path that is not the shortest":       {"args: [--config=/etc//collector/./config.yaml]", "", []string{"--config=" + first, "--config=" + own, "--config=" + last}, false},
		"a format of Vector":                    {"args: [--config-yaml, /etc/collector/config.yaml]", "", []string{"--config-yaml", first, "--config-yaml", own, "--config-yaml", last}, false},
		"a variable":                            {"args: [--config=$(FILE)]\nenv: [{name: FILE, value: /etc/collector/config.yaml}]", "", []string{"--config=" + first, "--config=" + own, "--config=" + last}, false},
		"a variable with a scheme":              {"args: [--config, $(FILE)]\nenv: [{name: FILE, value: 'file:/etc/collector/config.yaml'}]", "", []string{"--config", "file:" + first, "--config", "file:" + own, "--config", "file:" + last}, false},
		"a variable in a path":                  {"args: [--config=$(DIR)/config.yaml]\nenv: [{name: DIR, value: /etc/collector}]", "", []string{"--config=" + first, "--config=" + own, "--config=" + last}, false},
		"a variable that is unknown":            {"args: [--config=$(FILE)]\nenv: [{name: FILE, valueFrom: {}}]", "", nil, true},
		"all files by hand":                     {"args: [-c, /etc/collector/base-limits.yaml, -c, /etc/collector/base-gateway.yaml]", "", []string{"-c", first, "-c", last}, false},
		"a pattern":                             {"args: [--config=/etc/collector/*.yaml]", "", []string{"--config=/etc/collector/*.yaml"}, false},
		"a pattern for other files":             {"args: [--config=/etc/collector/*.toml]", "", nil, true},
		"a pattern for another directory":       {"args: [--config=/conf/*.yaml]", "", nil, true},
		"a pattern of Fluent Bit for tags":      {"args: [-c, /etc/collector/config.yaml]", "pipeline: {outputs: [{name: stdout, match: '*'}]}", nil, true},
		"a selector of rsyslog":                 {"args: [-f, /etc/collector/config.yaml]", "a: '*.* action(type=\"omfwd\")'", nil, true},
		"a pattern for logs":                    {"args: [-c, /etc/collector/config.yaml]", "include: [/var/log/pods/*, /var/log/*.yaml]", nil, true},
		"a pattern after a variable":            {"args: [-c, /etc/collector/config.yaml]", "includes: ['${DIR}/*.yaml']", []string{"-c", own}, false},
		"a pattern for all files":               {"args: [-c, '/etc/collector/*']", "", []string{"-c", "/etc/collector/*"}, false},
		"an include that is commented out":      {"args: [-c, /etc/collector/config.yaml]", "# @INCLUDE base-limits.yaml\na: |\n  // import base-gateway.yaml\n", nil, true},
		"files with a longer name":              {"args: [-c, /etc/collector/config.yaml]", "includes: [my-base-limits.yaml, base-gateway.yaml.bak]", nil, true},
		"a shell that passes no argument on":    {"command: [sh, -ec, 'exec otelcol --config /etc/collector/config.yaml']", "", nil, true},
		"a shell that passes its arguments on":  {"command: [/bin/bash, -c, 'exec otelcol \"$@\"', bash]", "", []string{"--config=" + first, "--config=" + own, "--config=" + last}, false},
		"a shell that names the bases":          {"args: []\ncommand: [sh, -c, 'run base-limits.yaml base-gateway.yaml']", "", nil, false},
		"a variable of variables":               {"args: [--config=$(FILE)]\nenv: [{name: DIR, value: /etc/collector}, {name: FILE, value: $(DIR)/config.yaml}]", "", []string{"--config=" + first, "--config=" + own, "--config=" + last}, false},
		"the directory for a path of one file":  {"args: [-c, $(DIR)/config.yaml]\nenv: [{name: DIR, value: /etc/collector}]", "", nil, true},
		"the directory":                         {"args: [run, /etc/collector]", "", []string{"run", "/etc/collector"}, false},
		"the directory of Telegraf":             {"collector: {name: telegraf}\nargs: [--config-directory, /etc/collector]", "", nil, true},
		"the directory of Alloy":                {"image: {repository: grafana/alloy}\nargs: [run, /etc/collector]", "", nil, true},
		"the directory in a variable":           {"args: []\nenv: [{name: VECTOR_CONFIG_DIR, value: /etc/collector/}]", "", nil, false},
		"files in a variable":                   {"args: []\nenv: [{name: VECTOR_CONFIG, value: '/etc/collector/base-limits.yaml,/etc/collector/base-gateway.yaml'}]", "", nil, false},
		"the own file in a variable":            {"args: []\nenv: [{name: VECTOR_CONFIG, value: /etc/collector/config.yaml}]", "", nil, true},
		"none at all":                           {"args: []", "", nil, true},
		"another file":                          {"args: [--config=/conf/other.yaml]", "", nil, true},
		"a file that begins as the own one":     {"args: [--config=/etc/collector/config.yaml.bak]", "", nil, true},
		"another source":                        {"args: ['--config=yaml:{}']", "", nil, true},
		"another option of Prometheus":          {"args: [--config.file=/etc/collector/config.yaml]", "", nil, true},
		"only the last base is named":           {"args: [--config=/etc/collector/base-gateway.yaml]", "", nil, true},
		"an own file that includes nothing":     {"args: [-c, /etc/collector/config.yaml]", "a: b", nil, true},
		"an own file that includes the bases":   {"args: [-c, /etc/collector/config.yaml]", "includes: [base-limits.yaml, base-gateway.yaml]", []string{"-c", own}, false},
		"an own file that includes one of two":  {"args: [-c, /etc/collector/config.yaml]", "includes: [base-limits.yaml]", nil, true},
		"an own file that includes a pattern":   {"args: [-promscrape.config=/etc/collector/config.yaml]", "scrape_config_files: ['base-*.yaml']", []string{"-promscrape.config=" + own}, false},
		"the command of an image":               {"args: []\ncommand: [/run, --all, /etc/collector]", "", nil, false},
		"two options with the own file":         {"args: [--config=/etc/collector/config.yaml, --log.config, /etc/collector/config.yaml]", "", []string{"--config=" + first, "--config=" + own, "--config=" + last, "--log.config", own}, false},
		"an option without its value":           {"args: [--config]", "", nil, true},
		"a word that only looks like an option": {"args: [--configuration=/etc/collector/config.yaml]", "", nil, true},
	} {
		values := withBases(t, row.values, row.own)
		err := Prepare(values)
		if isLost := err != nil; isLost != row.lost {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if row.lost && !strings.HasPrefix(err.Error(), "spec.args: the collector would not read base ") {
			t.Errorf("%s: the refusal %q does not name the field", name, err)
		}
		if got := wordsOf(values["args"]); !row.lost && !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

func withBases(t *testing.T, given, own string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(given), &values); err != nil {
		t.Fatal(err)
	}
	if own == "" {
		own = "a: b"
	}
	collector, _ := values["collector"].(map[string]any)
	values["collector"] = map[string]any{"name": collector["name"], "fileName": "config.yaml", "configurationText": own}
	values["bases"] = []any{
		map[string]any{"name": "limits", "file": "base-limits.yaml", "position": "first"},
		map[string]any{"name": "gateway", "file": "base-gateway.yaml", "position": "last"},
	}
	return values
}

func wordsOf(args any) (words []string) {
	list, _ := args.([]any)
	for _, word := range list {
		words = append(words, fmt.Sprint(word))
	}
	return words
}

func TestArgumentsOfACheckNameTheFilesOfBasesToo(t *testing.T) {
	values := withBases(t, "check: {args: [check, --config, /etc/collector/config.yaml]}", "")
	if err := Prepare(values); err != nil {
		t.Fatal(err)
	}
	check, _ := values["check"].(map[string]any)
	if got := strings.Join(wordsOf(check["args"]), " "); got != "check --config /etc/collector/base-limits.yaml "+
		"--config /etc/collector/config.yaml --config /etc/collector/base-gateway.yaml" {
		t.Errorf("the check has the arguments %s", got)
	}
}

func TestACheckOfTheOwnFileReadsTheBasesToo(t *testing.T) {
	const own, pods = "/etc/collector/config.yaml", "args: [--config=/etc/collector/config.yaml]\n"
	for name, row := range map[string]struct {
		values, own string
		lost        bool
	}{
		"its own file alone":             {pods + "check: {args: [validate, " + own + "]}", "", true},
		"its own file in a variable":     {pods + "check: {args: [validate, $(OWN)]}\nenv: [{name: OWN, value: " + own + "}]", "", true},
		"one of two bases":               {pods + "check: {args: [validate, " + own + ", /etc/collector/base-limits.yaml]}", "", true},
		"all files":                      {pods + "check: {args: [validate, " + own + ", /etc/collector/base-limits.yaml, /etc/collector/base-gateway.yaml]}", "", false},
		"a pattern beside its own file":  {pods + "check: {args: [validate, " + own + ", /etc/collector/base-*.yaml]}", "", false},
		"the directory":                  {pods + "check: {args: [validate, /etc/collector]}", "", false},
		"its own file, which includes":   {pods + "check: {args: [validate, " + own + "]}", "includes: [base-limits.yaml, base-gateway.yaml]", false},
		"another file":                   {pods + "check: {args: [validate, " + own + ".test]}", "", false},
		"no file":                        {pods + "check: {args: [--version]}", "", false},
		"no file, with one for the pods": {"args: [--config=$(OWN)]\ncheck: {args: [--version]}\nenv: [{name: OWN, value: " + own + "}]", "", false},
		"what the pods run":              {pods + "check: {}", "", false},
		"what the pods run, and no more": {pods + "check: {args: []}", "", false},
		"the command's file":             {"command: [run, " + own + "]\nargs: [/etc/collector]\ncheck: {args: [--test]}", "", true},
	} {
		err := Prepare(withBases(t, row.values, row.own))
		if (err != nil) != row.lost || row.lost && !strings.HasPrefix(err.Error(), "spec.check.args: the check would pass without base ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADirectoryIsReadForOneExtension(t *testing.T) {
	for file, want := range map[string]string{"base-a.alloy": "", "base-a.river": "reads only .alloy files: give the base a key that ends so"} {
		values := withBases(t, "collector: {name: grafana/alloy}\nargs: [run, /etc/collector]", "")
		values["bases"] = []any{map[string]any{"name": "a", "file": file}}
		err := Prepare(values)
		if (err != nil) != (want != "") || want != "" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestBasesCanBeIncludedByAFurtherFileOrByASecretThatIsNotSeen(t *testing.T) {
	const includes = "includes: [base-limits.yaml, base-gateway.yaml]"
	further := withBases(t, "args: [-c, /etc/collector/config.yaml]", "")
	collector, _ := further["collector"].(map[string]any)
	collector["files"] = map[string]any{"more.yaml": base64.StdEncoding.EncodeToString([]byte(includes))}
	if err := Prepare(further); err != nil {
		t.Error(err)
	}
	for args, wantErr := range map[string]bool{"[-c, /etc/collector/config.yaml]": false, "[-c, /other.yaml]": true} {
		secret := withBases(t, "args: "+args, "")
		secret["collector"] = map[string]any{"fileName": "config.yaml", "configurationSecret": map[string]any{"name": "own"}}
		if err := Prepare(secret); (err != nil) != wantErr {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestACollectorWithoutAConfigurationReadsItsBases(t *testing.T) {
	values := withBases(t, "", "")
	values["collector"] = map[string]any{"fileName": "config.yaml"}
	if err := Prepare(values); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(wordsOf(values["args"]), " "); got != "--config=/etc/collector/base-limits.yaml --config=/etc/collector/base-gateway.yaml" {
		t.Errorf("the arguments are %s", got)
	}
}

// Fluent Bit reads only the last --config: cfg_file in https://github.com/fluent/fluent-bit/blob/master/src/fluent-bit.c.
func TestAProgramThatMergesNothingIncludesItsBases(t *testing.T) {
	const own, includes = "--config=/etc/collector/config.yaml", "includes: [base-limits.yaml, base-gateway.yaml]"
	collectors := []string{
		"collector: {name: cr.fluentbit.io/fluent/fluent-bit}", "image: {repository: docker.io/newrelic/newrelic-fluentbit-output}",
	}
	for _, program := range collectors {
		for _, args := range []string{"", "\nargs: [" + own + "]\ncheck: {args: [" + own + "]}"} {
			err := Prepare(withBases(t, program+args, ""))
			if err == nil || !strings.HasSuffix(err.Error(), "; include the base's file in the configuration") {
				t.Errorf("%s%s: a base that is not read is refused with %v", program, args, err)
			}
			values := withBases(t, program+args, includes)
			if err := Prepare(values); err != nil {
				t.Errorf("%s%s: %v", program, args, err)
			}
			if got := wordsOf(values["args"]); !reflect.DeepEqual(got, []string{own}) {
				t.Errorf("%s%s: the arguments are %q", program, args, got)
			}
			check, _ := values["check"].(map[string]any)
			if got := wordsOf(check["args"]); args != "" && !reflect.DeepEqual(got, []string{own}) {
				t.Errorf("%s%s: the check has the arguments %q", program, args, got)
			}
		}
		values := withBases(t, program, "")
		alone, _ := values["collector"].(map[string]any)
		delete(alone, "configurationText")
		values["bases"] = []any{asMaps(values["bases"])[0]}
		if err := Prepare(values); err != nil || wordsOf(values["args"])[0] != "--config=/etc/collector/base-limits.yaml" {
			t.Errorf("%s: a base alone has the arguments %v, and %v", program, values["args"], err)
		}
	}
}
