package tests

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

// compared is a setup of a vendor's documents, as the values of the vendor's own chart.
type compared struct {
	Chart  string `json:"chart"`
	Source string `json:"source"`
	Values string `json:"values"`        // without the configuration, if that is the case's
	Made   int    `json:"made"`          // lines of the configuration, if the chart makes it
	Why    string `json:"why,omitempty"` // the case has more than twice as many lines
}

// head are the lines of a Collector around its values: apiVersion, kind, metadata, its name and spec.
const head = 5

// The table of docs/reference/vendors.md has the lines of a Collector beside those of the vendor's own chart.
func TestComparedWithTheVendorsCharts(t *testing.T) {
	const setups = 27
	var table strings.Builder
	table.WriteString("| Setup | Collector | The vendor's chart | You write there | The chart makes | Times | Why more than twice |\n" +
		"| --- | --: | --- | --: | --: | --: | --- |\n")
	files, err := filepath.Glob(chartDir + "/ci/compared/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != setups {
		t.Errorf("%d setups are compared, want %d", len(files), setups)
	}
	all := cases(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		theirs := readCompared(t, file)
		configuration := linesOfConfiguration(t, all[name])
		here := head + linesOfValues(t, name) + configuration
		there := lines(theirs.Values)
		if theirs.Made == 0 {
			there += configuration
		}
		times := float64(here) / float64(there)
		if explained := theirs.Why != ""; explained != (times > 2) {
			t.Errorf("%s: %d lines are %.1f times %d, and has a reason: %t", name, here, times, there, explained)
		}
		made := "-"
		if theirs.Made > 0 {
			made = strconv.Itoa(theirs.Made)
		}
		const ci = "../../helm-charts/collector/ci/"
		fmt.Fprintf(&table, "| [%s](%s%[1]s-values.yaml) | %[3]d | [%s](%s), [values](%[2]scompared/%[1]s.yaml) | %[6]d | %s | %.1f | %s |\n",
			name, ci, here, theirs.Chart, theirs.Source, there, made, times, cmp.Or(theirs.Why, "-"))
	}
	writeTable(t, "TestCompared", table.String())
}

func readCompared(t *testing.T, file string) (found compared) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &found); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if _, err := chartutil.ReadValues([]byte(found.Values)); err != nil {
		t.Errorf("%s: its values are not YAML: %v", file, err)
	}
	if !strings.HasPrefix(found.Source, "https://") || found.Chart == "" {
		t.Errorf("%s names no chart, or no source", file)
	}
	return found
}

// linesOfValues returns how many lines a case's values have without the configuration.
func linesOfValues(t *testing.T, name string) (count int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartDir, "ci", name+"-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return lines(string(text))
}

// linesOfConfiguration returns how many lines the files of a case have, each with the line that names it.
func linesOfConfiguration(t *testing.T, values map[string]any) (count int) {
	t.Helper()
	collector, err := chartutil.Values(values).Table("collector")
	if err != nil {
		t.Fatal(err)
	}
	files, _ := collector["files"].(map[string]any)
	all := slices.Collect(maps.Values(files))
	if configuration, ok := collector["configuration"]; ok {
		all = append(all, configuration)
	}
	for _, file := range all {
		content, err := base64.StdEncoding.DecodeString(fmt.Sprint(file))
		if err != nil {
			t.Fatal(err)
		}
		count += 1 + lines(string(content))
	}
	return count
}

// lines counts the lines that are neither empty nor a comment.
func lines(text string) (count int) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			count++
		}
	}
	return count
}
