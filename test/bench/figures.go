package main

import (
	"encoding/json"
	"maps"
	"slices"
)

// phase is what one phase cost one operator.
type phase struct {
	// DoneSeconds is how long it took until each release was deployed, or gone; where nothing is to be deployed, until
	// the operator was quiet.
	DoneSeconds float64 `json:"doneSeconds"`

	// QuietSeconds is how long it took until the operator was last seen to do something.
	QuietSeconds float64 `json:"quietSeconds"`

	// CPUMillis is the operator's CPU time until it had been quiet for some seconds, user and system.
	CPUMillis float64 `json:"cpuMillisPerCollector"`

	Requests float64 `json:"requestsPerCollector"`
	Writes   float64 `json:"writesPerCollector"`

	// AllocatedKiB is the memory that the operator allocated, whether or not it was collected again.
	AllocatedKiB float64 `json:"allocatedKiBPerCollector,omitempty"`

	// RSSMiB is the operator's memory at the end of the phase, and PeakMiB the most that the process ever had.
	RSSMiB  float64 `json:"rssMiB,omitempty"`
	PeakMiB float64 `json:"peakMiB,omitempty"`

	// ByKind are the requests per Collector, by verb and resource.
	ByKind map[string]float64 `json:"requests,omitempty"`
}

// figures are what one system cost, by phase. As JSON, the phases and peakMiB are side by side.
type figures struct {
	Phases  map[string]phase
	PeakMiB float64
}

// MarshalJSON puts the phases and peakMiB side by side.
func (f figures) MarshalJSON() ([]byte, error) {
	flat := map[string]any{}
	for name, phase := range f.Phases {
		flat[name] = phase
	}
	if f.PeakMiB > 0 {
		flat["peakMiB"] = f.PeakMiB
	}
	return json.Marshal(flat)
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (f *figures) UnmarshalJSON(text []byte) error {
	var flat map[string]json.RawMessage
	if err := json.Unmarshal(text, &flat); err != nil {
		return err
	}
	f.Phases = map[string]phase{}
	for name, value := range flat {
		if name == "peakMiB" {
			if err := json.Unmarshal(value, &f.PeakMiB); err != nil {
				return err
			}
			continue
		}
		var p phase
		if err := json.Unmarshal(value, &p); err != nil {
			return err
		}
		f.Phases[name] = p
	}
	return nil
}

// median returns the middle of an odd number of values, the mean of the two in the middle otherwise, and 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// medianOf returns the median of one figure of each item.
func medianOf[T any](items []T, figure func(T) float64) float64 {
	values := make([]float64, len(items))
	for i, item := range items {
		values[i] = figure(item)
	}
	return median(values)
}

// medianFigures returns the medians of some runs, figure by figure, or nothing of none.
func medianFigures(runs []figures) *figures {
	if len(runs) == 0 {
		return nil
	}
	medians := &figures{Phases: map[string]phase{}, PeakMiB: medianOf(runs, func(f figures) float64 { return f.PeakMiB })}
	for name := range runs[0].Phases {
		phases := make([]phase, len(runs))
		kinds := map[string]bool{}
		for i, run := range runs {
			phases[i] = run.Phases[name]
			for kind := range phases[i].ByKind {
				kinds[kind] = true
			}
		}
		combined := phase{
			DoneSeconds:  medianOf(phases, func(p phase) float64 { return p.DoneSeconds }),
			QuietSeconds: medianOf(phases, func(p phase) float64 { return p.QuietSeconds }),
			CPUMillis:    medianOf(phases, func(p phase) float64 { return p.CPUMillis }),
			Requests:     medianOf(phases, func(p phase) float64 { return p.Requests }),
			Writes:       medianOf(phases, func(p phase) float64 { return p.Writes }),
			AllocatedKiB: medianOf(phases, func(p phase) float64 { return p.AllocatedKiB }),
			RSSMiB:       medianOf(phases, func(p phase) float64 { return p.RSSMiB }),
			PeakMiB:      medianOf(phases, func(p phase) float64 { return p.PeakMiB }),
		}
		for kind := range maps.Keys(kinds) {
			if combined.ByKind == nil {
				combined.ByKind = map[string]float64{}
			}
			combined.ByKind[kind] = medianOf(phases, func(p phase) float64 { return p.ByKind[kind] })
		}
		medians.Phases[name] = combined
	}
	return medians
}

// ratios returns, by phase, how many times the figure of one system is that of another.
func ratios(of, to *figures, figure func(phase) float64) map[string]float64 {
	found := map[string]float64{}
	if of == nil || to == nil {
		return found
	}
	for name, phase := range of.Phases {
		if other, ok := to.Phases[name]; ok && figure(other) > 0 {
			found[name] = figure(phase) / figure(other)
		}
	}
	return found
}
