package main

import (
	"context"
	"fmt"
	"slices"
)

// stockLimit is the number of Collectors up to which mode scale measures the stock operator: beyond it takes hours.
const stockLimit = 100

// scaleFigures are what fleets of different sizes cost.
type scaleFigures struct {
	// Points are the fleets that were measured, by system, the smallest first.
	Points map[string][]scalePoint `json:"points"`

	// CPUGrowth is, by phase, how many times the CPU per Collector of the largest fleet that of 100 Collectors is.
	CPUGrowth map[string]float64 `json:"cpuGrowth,omitempty"`

	// KiBPerCollector is the memory of each Collector beyond the first 100, after a restart.
	KiBPerCollector float64 `json:"kibPerAddedCollector,omitempty"`
}

// scalePoint is what a fleet of some size cost.
type scalePoint struct {
	Collectors int     `json:"collectors"`
	Figures    figures `json:"phases"`
}

// allSystems are the systems in the order of tables and legends.
var allSystems = []string{ours, stock, peer}

// scalePhases are the phases that are measured at every size.
var scalePhases = []string{"install", "restart", "configChange", "delete"}

// scaling is the mode that compares fleets of different sizes.
func (b *bench) scaling(ctx context.Context) error {
	sizes := slices.Sorted(slices.Values(b.scale))
	if err := b.populate(ctx, sizes[len(sizes)-1], b.secrets, b.deployments); err != nil {
		return err
	}
	if b.peer != "" {
		if err := b.admitPeer(ctx); err != nil {
			return err
		}
	}
	found := &scaleFigures{Points: map[string][]scalePoint{}}
	for _, n := range sizes {
		runs := map[string][]figures{}
		for run := range b.runs {
			systems := b.systems(run)
			if b.peer != "" {
				systems = append(systems, peer)
			}
			for _, system := range systems {
				if system == stock && n > stockLimit {
					continue
				}
				b.say("%d Collectors, run %d of %d, %s", n, run+1, b.runs, system)
				figures, err := b.life(ctx, system, n, scalePhases)
				if err != nil {
					return fmt.Errorf("%s with %d Collectors: %w", system, n, err)
				}
				runs[system] = append(runs[system], figures)
			}
		}
		for system, figures := range runs {
			found.Points[system] = append(found.Points[system], scalePoint{n, *medianFigures(figures)})
		}
	}
	found.compare()
	b.result.Scale = found
	return nil
}

// compare compares the largest fleet of ours with that of 100 Collectors, if there are both.
func (s *scaleFigures) compare() {
	points := s.Points[ours]
	base := slices.IndexFunc(points, func(p scalePoint) bool { return p.Collectors == 100 })
	if base < 0 || base == len(points)-1 {
		return
	}
	small, large := points[base], points[len(points)-1]
	s.CPUGrowth = ratios(&large.Figures, &small.Figures, func(p phase) float64 { return p.CPUMillis })
	added := large.Figures.Phases["restart"].PeakMiB - small.Figures.Phases["restart"].PeakMiB
	s.KiBPerCollector = added * 1024 / float64(large.Collectors-small.Collectors)
}
