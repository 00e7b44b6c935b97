package main

import (
	"encoding/xml"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReportReplacesWhatIsBetweenTheMarks(t *testing.T) {
	dir := t.TempDir()
	page, fleet, scale := filepath.Join(dir, "performance.md"), filepath.Join(dir, "fleet.json"), filepath.Join(dir, "scale.json")
	if err := os.WriteFile(page, []byte("# Title\n"+reportBegin+"old\n"+reportEnd+"the end\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := newMeasurements(options{n: 100, runs: 3})
	m.setFleet(&figures{Phases: map[string]phase{"install": {CPUMillis: 20}}}, &figures{Phases: map[string]phase{"install": {CPUMillis: 500}}}, nil)
	if err := m.write(fleet); err != nil {
		t.Fatal(err)
	}
	m = newMeasurements(options{n: 7})
	m.Scale = &scaleFigures{Points: map[string][]scalePoint{
		ours: {
			{10, figures{PeakMiB: 60, Phases: map[string]phase{"install": {CPUMillis: 30}}}},
			{1000, figures{PeakMiB: 130, Phases: map[string]phase{"install": {CPUMillis: 25}}}},
		},
		peer: {
			{10, figures{PeakMiB: 90, Phases: map[string]phase{"install": {CPUMillis: 40}, "restart": {CPUMillis: 7}}}},
			{100, figures{PeakMiB: 95, Phases: map[string]phase{"install": {CPUMillis: 35}, "restart": {CPUMillis: 8}}}},
		},
	}}
	m.Wave = &waveFigures{Collectors: 1000, Budget: 50, Seed: 1, Waves: []wave{{KilledAt: []int{7, 31}, Most: 50, HeldSeconds: 65.4, MendedSeconds: 9.6}}}
	if err := m.write(scale); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it replaces its own
		if err := report(page, []string{fleet, scale}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# Title\n", "the end\n", "100 Collectors of 6 objects", "| CPU per Collector, ms | install | 20.0 | 500.0 | 25.0 |  |  |\n",
		"| 1000 | ours | 25.0 |", "| 100 | opentelemetry-operator | 35.0 |", "(performance.svg)", "| 1 | 7, 31 | 50 | 65 | 10 |\n",
	} {
		if strings.Count(string(text), want) != 1 {
			t.Errorf("%q is not once in:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "old") {
		t.Errorf("what was between the marks is still there:\n%s", text)
	}
	want := []string{ours, peer, "install", "restart", ours, peer}
	if legend := chartLegend(t, filepath.Join(dir, "performance.svg"), map[string]int{ours: 2, peer: 3}); !slices.Equal(legend, want) {
		t.Errorf("the legends of the chart are %q, want %q", legend, want)
	}
}

// chartLegend returns the names in a chart's legends. Each system has as many lines in its color as drawn says, and one in the legend
// of each panel.
func chartLegend(t *testing.T, path string, drawn map[string]int) (names []string) {
	t.Helper()
	chart, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var svg struct {
		Groups []struct {
			Texts []string `xml:"text"`
			Paths []struct {
				Style string `xml:"style,attr"`
			} `xml:"path"`
		} `xml:"g"`
	}
	if err := xml.Unmarshal(chart, &svg); err != nil {
		t.Fatal(err)
	}
	strokes := map[string]string{ours: "stroke:#0B6E4F", stock: "stroke:#D95F02", peer: "stroke:#544C9E"}
	found := map[string]int{}
	for _, group := range svg.Groups {
		for _, text := range group.Texts {
			if _, isPhase := dashes[text]; isPhase || strokes[text] != "" {
				names = append(names, text)
			}
		}
		for _, path := range group.Paths {
			for system, stroke := range strokes {
				if strings.Contains(path.Style, stroke) && strings.Contains(path.Style, "fill:none") {
					found[system]++
				}
			}
		}
	}
	for system := range strokes {
		want := drawn[system]
		if want > 0 {
			want += 2
		}
		if found[system] != want {
			t.Errorf("the chart has %d lines for %s, want %d", found[system], system, want)
		}
	}
	return names
}

func TestAnAxisEndsAboveItsLines(t *testing.T) {
	for most, want := range map[float64]float64{1: 1, 1.5: 2, 138: 200, 279: 500, 500: 500, 501: 1000, 1193: 2000, 0.07: 0.1} {
		if got := above(most); math.Abs(got-want) > 1e-9 {
			t.Errorf("above %v ends an axis at %v, want %v", most, got, want)
		}
	}
}

func TestReportNeedsItsMarks(t *testing.T) {
	for name, text := range map[string]string{
		"neither is there":     "# Title\n",
		"the second is before": reportEnd + reportBegin,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := between(text, reportBegin, reportEnd, "x"); err == nil {
				t.Error("want an error")
			}
		})
	}
}

func TestFlags(t *testing.T) {
	for name, test := range map[string]struct{ args, refusal string }{
		"the defaults":                    {},
		"some phases of one system":       {args: "-n 5 -phases install,restart -only ours"},
		"an even number has no median":    {args: "-runs 2", refusal: "-runs"},
		"a phase that is none":            {args: "-phases instal", refusal: `"instal"`},
		"a mode that is none":             {args: "-modes fleet,speed", refusal: `"speed"`},
		"a system that is none":           {args: "-only theirs", refusal: "-only"},
		"a fleet of none":                 {args: "-n 0", refusal: "-n"},
		"a fleet that is not larger":      {args: "-fleet 100", refusal: "-fleet"},
		"a wave that is too small":        {args: "-wave 19", refusal: "-wave"},
		"a scale that is no number":       {args: "-scale 10,many", refusal: `"many"`},
		"a peer without its CRDs":         {args: "-peer bin/operator", refusal: "-peer-config"},
		"a report of nothing":             {args: "-report docs/explanation/performance.md", refusal: "-report"},
		"a report of a file":              {args: "-report docs/explanation/performance.md a.json"},
		"an argument that has no meaning": {args: "install", refusal: `"install"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseFlags(strings.Fields(test.args))
			if test.refusal == "" && err != nil || test.refusal != "" && (err == nil || !strings.Contains(err.Error(), test.refusal)) {
				t.Errorf("got error %v, want %q", err, test.refusal)
			}
		})
	}
}
