package main

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestMedian(t *testing.T) {
	for name, test := range map[string]struct {
		values []float64
		want   float64
	}{
		"of nothing it is zero":                     {nil, 0},
		"of one value it is that":                   {[]float64{7}, 7},
		"of three it is the one in the middle":      {[]float64{100, 1, 2}, 2},
		"of two it is between them":                 {[]float64{4, 2}, 3},
		"one run that went wrong does not count":    {[]float64{10, 11, 9, 900, 12}, 11},
		"values that are the same are one and same": {[]float64{5, 5, 5}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			if got := median(test.values); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestMedianFiguresAreTakenFigureByFigure(t *testing.T) {
	run := func(cpu, requests, peak float64, kinds map[string]float64) figures {
		return figures{Phases: map[string]phase{"install": {CPUMillis: cpu, Requests: requests, ByKind: kinds}}, PeakMiB: peak}
	}
	got := medianFigures([]figures{
		run(1, 30, 200, map[string]float64{"get secrets": 3}),
		run(2, 10, 300, map[string]float64{"get secrets": 5}),
		run(3, 20, 100, map[string]float64{"get secrets": 4, "list pods": 1}),
	})
	want := &figures{PeakMiB: 200, Phases: map[string]phase{"install": {
		CPUMillis: 2, Requests: 20, ByKind: map[string]float64{"get secrets": 4, "list pods": 0},
	}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if medianFigures(nil) != nil {
		t.Error("what was not measured must have no figures")
	}
}

func TestRatios(t *testing.T) {
	cpu := func(p phase) float64 { return p.CPUMillis }
	of := func(phases map[string]phase) *figures { return &figures{Phases: phases} }
	stock := of(map[string]phase{"install": {CPUMillis: 600}, "restart": {CPUMillis: 400}, "delete": {CPUMillis: 20}})
	for name, test := range map[string]struct {
		of, to *figures
		want   map[string]float64
	}{
		"how many times the other's it is": {
			stock, of(map[string]phase{"install": {CPUMillis: 50}, "restart": {CPUMillis: 800}}),
			map[string]float64{"install": 12, "restart": 0.5},
		},
		"nothing is not divided by":          {stock, of(map[string]phase{"install": {}}), map[string]float64{}},
		"of one system alone there are none": {stock, nil, map[string]float64{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ratios(test.of, test.to, cpu); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestMeasurementsAsJSON(t *testing.T) {
	install := phase{DoneSeconds: 5, QuietSeconds: 6, CPUMillis: 20, Requests: 16, Writes: 9, PeakMiB: 80}
	theirs := install
	theirs.CPUMillis = 600
	m := newMeasurements(options{n: 100})
	m.setFleet(
		&figures{Phases: map[string]phase{"install": install}, PeakMiB: 80},
		&figures{Phases: map[string]phase{"install": theirs}, PeakMiB: 250},
		&figures{Phases: map[string]phase{"install": {DoneSeconds: 2}}},
	)
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"ours":{"install":{"doneSeconds":5,"quietSeconds":6,"cpuMillisPerCollector":20,"requestsPerCollector":16,` +
			`"writesPerCollector":9,"peakMiB":80},"peakMiB":80}`,
		`"stock":{"install":{`, `"peakMiB":250`, `"cpu":{"install":30}`, `"floor":{"install":{"doneSeconds":2,`,
		`"floor":{"install":2.5}`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("there is no %s in %s", want, text)
		}
	}
	var read measurements
	if err := json.Unmarshal(text, &read); err != nil || !reflect.DeepEqual(&read, m) {
		t.Errorf("read back: %+v, %v, want %+v", read, err, m)
	}
}

func TestScaleComparesTheLargestFleetWithAHundred(t *testing.T) {
	point := func(n int, cpu, peak float64) scalePoint {
		return scalePoint{n, figures{Phases: map[string]phase{"restart": {CPUMillis: cpu, PeakMiB: peak}}}}
	}
	of := func(ours ...scalePoint) scaleFigures {
		return scaleFigures{Points: map[string][]scalePoint{"ours": ours, "stock": {point(100, 900, 300), point(2000, 900, 300)}}}
	}
	s := of(point(10, 30, 60), point(100, 20, 70), point(1000, 22, 115))
	s.compare()
	if math.Abs(s.CPUGrowth["restart"]-1.1) > 1e-9 || math.Abs(s.KiBPerCollector-51.2) > 1e-9 {
		t.Errorf("got %v and %v KiB, want 1.1 and 51.2", s.CPUGrowth, s.KiBPerCollector)
	}
	s = of(point(10, 30, 60), point(100, 20, 70))
	if s.compare(); s.CPUGrowth != nil {
		t.Errorf("compared without a larger fleet: %v", s.CPUGrowth)
	}
}
