package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
)

// measurements are what the bench writes as JSON.
type measurements struct {
	// Setting says under what circumstances.
	Setting setting `json:"setting"`

	// Ours, Stock and Floor are the medians of mode fleet. The floor is no process of
	// its own, and has no memory.
	Ours  *figures `json:"ours,omitempty"`
	Stock *figures `json:"stock,omitempty"`
	Floor *figures `json:"floor,omitempty"`

	// Ratio is how many times the figure of ours that of stock is, by figure and phase; of floor, how many times the
	// floor's time until done that of ours is.
	Ratio map[string]map[string]float64 `json:"ratio,omitempty"`

	Scale  *scaleFigures           `json:"scale,omitempty"`
	Memory *memoryFigures          `json:"memory,omitempty"`
	Churn  *churnFigures           `json:"churn,omitempty"`
	Large  []largePoint            `json:"large,omitempty"`
	Start  map[string]startFigures `json:"start,omitempty"`
	Wave   *waveFigures            `json:"wave,omitempty"`

	Bases    *basesFigures `json:"bases,omitempty"`
	BaseWave *waveFigures  `json:"baseWave,omitempty"`
	Pairs    *pairsFigures `json:"pairs,omitempty"`
}

// setting are the circumstances of a measurement.
type setting struct {
	Collectors  int `json:"collectors"`
	Secrets     int `json:"unrelatedSecrets"`
	Deployments int `json:"unrelatedDeployments"`
	Runs        int `json:"runs"`
	Workers     int `json:"workers"`
	CPUs        int `json:"cpus"`
}

func newMeasurements(o options) *measurements {
	return &measurements{Setting: setting{o.n, o.secrets, o.deployments, o.runs, o.ourWorkers(), runtime.NumCPU()}}
}

func (m *measurements) setFleet(ours, stock, floor *figures) {
	m.Ours, m.Stock, m.Floor = ours, stock, floor
	m.Ratio = map[string]map[string]float64{
		"cpu":      ratios(stock, ours, func(p phase) float64 { return p.CPUMillis }),
		"done":     ratios(stock, ours, func(p phase) float64 { return p.DoneSeconds }),
		"requests": ratios(stock, ours, func(p phase) float64 { return p.Requests }),
		"floor":    ratios(ours, floor, func(p phase) float64 { return p.DoneSeconds }),
	}
}

// write writes the measurements to a file.
func (m *measurements) write(path string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// read reads measurements from files, of which later ones win.
func read(paths []string) (*measurements, error) {
	m := &measurements{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var next measurements
		if err := json.Unmarshal(text, &next); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		m.merge(next)
	}
	return m, nil
}

// merge takes what next has. A setting is that of the fleet, which the tables are about.
func (m *measurements) merge(next measurements) {
	if next.Ours != nil || next.Stock != nil {
		m.Setting, m.Ours, m.Stock, m.Floor, m.Ratio = next.Setting, next.Ours, next.Stock, next.Floor, next.Ratio
	}
	if next.Scale != nil {
		m.Scale = next.Scale
	}
	if next.Memory != nil {
		m.Memory = next.Memory
	}
	if next.Large != nil {
		m.Large = next.Large
	}
	if next.Pairs != nil {
		m.Pairs = next.Pairs
	}
	if next.Churn != nil {
		m.Churn = next.Churn
	}
	if next.Wave != nil {
		m.Wave = next.Wave
	}
	if next.Bases != nil {
		m.Bases = next.Bases
	}
	if next.BaseWave != nil {
		m.BaseWave = next.BaseWave
	}
	if next.Start != nil {
		m.Start = next.Start
	}
}
