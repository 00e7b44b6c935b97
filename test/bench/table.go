package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// print prints the measurements as Markdown, and the requests by verb and resource, which the report leaves out.
func (m *measurements) print(out io.Writer) {
	fmt.Fprint(out, "\n"+m.markdown())
	for _, system := range []struct {
		name    string
		figures *figures
	}{{ours, m.Ours}, {stock, m.Stock}} {
		if system.figures == nil {
			continue
		}
		for _, name := range allPhases {
			byKind := system.figures.Phases[name].ByKind
			kinds := slices.Sorted(maps.Keys(byKind))
			slices.SortStableFunc(kinds, func(a, b string) int { return int(1e6 * (byKind[b] - byKind[a])) })
			var list []string
			for _, kind := range kinds {
				if byKind[kind] >= 0.005 {
					list = append(list, fmt.Sprintf("%.2f %s", byKind[kind], kind))
				}
			}
			if len(list) > 0 {
				fmt.Fprintf(out, "\nrequests per Collector, %s, %s: %s\n", system.name, name, strings.Join(list, ", "))
			}
		}
	}
}

// markdown returns the measurements as tables.
func (m *measurements) markdown() string {
	var out strings.Builder
	if m.Ours != nil || m.Stock != nil {
		m.fleetTable(&out)
	}
	if m.Scale != nil {
		m.Scale.table(&out)
	}
	if m.Large != nil {
		largeTable(&out, m.Large)
	}
	if m.Wave != nil {
		m.Wave.table(&out)
	}
	if m.Bases != nil {
		m.Bases.table(&out)
	}
	if m.BaseWave != nil {
		m.BaseWave.table(&out)
	}
	if m.Pairs != nil {
		m.Pairs.table(&out)
	}
	m.otherTable(&out)
	return out.String()
}

func (m *measurements) fleetTable(out io.Writer) {
	s := m.Setting
	fmt.Fprintf(out, "%d Collectors of 6 objects, %d unrelated Secrets, %d unrelated Deployments, %d CPUs, "+
		"%d workers of ours and of the floor; medians of %d.\n\n", s.Collectors, s.Secrets, s.Deployments, s.CPUs, s.Workers, s.Runs)
	fmt.Fprint(out, "| what | phase | ours | stock | stock ÷ ours | floor | ours ÷ floor |\n|---|---|--:|--:|--:|--:|--:|\n")
	for _, row := range []struct {
		what, format string
		figure       func(phase) float64
	}{
		{"CPU per Collector, ms", "%.1f", func(p phase) float64 { return p.CPUMillis }},
		{"requests per Collector", "%.1f", func(p phase) float64 { return p.Requests }},
		{"writes per Collector", "%.1f", func(p phase) float64 { return p.Writes }},
		{"done after, s", "%.1f", func(p phase) float64 { return p.DoneSeconds }},
		{"quiet after, s", "%.1f", func(p phase) float64 { return p.QuietSeconds }},
	} {
		for _, name := range allPhases {
			our, their, least := m.Ours.value(name, row.figure), m.Stock.value(name, row.figure), m.Floor.value(name, row.figure)
			if our.known || their.known {
				fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s |\n", row.what, name, our.text(row.format), their.text(row.format),
					their.over(our), least.text(row.format), our.over(least))
			}
		}
	}
	our, their := m.Ours.peak(), m.Stock.peak()
	fmt.Fprintf(out, "| peak memory, MiB | all | %s | %s | %s | | |\n", our.text("%.0f"), their.text("%.0f"), their.over(our))
}

// value is a figure that may be missing.
type value struct {
	number float64
	known  bool
}

// value returns a figure of a phase; f may be nil.
func (f *figures) value(name string, figure func(phase) float64) value {
	if f == nil {
		return value{}
	}
	p, known := f.Phases[name]
	return value{figure(p), known}
}

func (f *figures) peak() value {
	if f == nil {
		return value{}
	}
	return value{f.PeakMiB, true}
}

func (v value) text(format string) string {
	if !v.known {
		return ""
	}
	return fmt.Sprintf(format, v.number)
}

// over returns how many times the other figure this one is.
func (v value) over(other value) string {
	if !v.known || !other.known || other.number == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", v.number/other.number)
}

func (s *scaleFigures) table(out io.Writer) {
	fmt.Fprint(out, "\n| Collectors | system | install, ms | restart, ms | config change, ms | delete, ms | restart quiet after, s | "+
		"peak after restart, MiB | peak, MiB |\n|--:|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, system := range allSystems {
		for _, point := range s.Points[system] {
			fmt.Fprintf(out, "| %d | %s |", point.Collectors, system)
			for _, name := range scalePhases {
				fmt.Fprintf(out, " %.1f |", point.Figures.Phases[name].CPUMillis)
			}
			restart := point.Figures.Phases["restart"]
			fmt.Fprintf(out, " %.1f | %.0f | %.0f |\n", restart.QuietSeconds, restart.PeakMiB, point.Figures.PeakMiB)
		}
	}
	if len(s.CPUGrowth) > 0 {
		fmt.Fprintf(out, "\nCPU per Collector, times that of 100 Collectors: install %.2f, restart %.2f, config change %.2f. "+
			"Memory per added Collector: %.0f KiB.\n",
			s.CPUGrowth["install"], s.CPUGrowth["restart"], s.CPUGrowth["configChange"], s.KiBPerCollector)
	}
}

// otherTable has the figures of the modes that have one or two.
func (m *measurements) otherTable(out io.Writer) {
	var rows []string
	if c := m.Churn; c != nil {
		rows = append(rows, fmt.Sprintf("%d pods that flap, %.0f flaps a second | %.1f %% of one core, %.1f requests a second, %.1f writes",
			c.Collectors, c.FlapsPerSecond, c.CPUPercent, c.RequestsPerSecond, c.WritesPerSecond))
	}
	if c := m.Memory; c != nil {
		rows = append(rows, fmt.Sprintf("peak memory with %d unrelated Secrets, without | %.1f MiB, %.1f MiB: %+.1f MiB; live %+.1f MiB",
			c.Secrets, c.WithMiB, c.WithoutMiB, c.GrowthMiB, c.LiveGrowthMiB))
	}
	for _, system := range slices.Sorted(maps.Keys(m.Start)) {
		rows = append(rows, fmt.Sprintf("%s: binary, first reconcile | %.1f MB, %.2f s after the start",
			system, m.Start[system].BinaryMB, m.Start[system].FirstReconcileSeconds))
	}
	if len(rows) > 0 {
		fmt.Fprintf(out, "\n| what | |\n|---|---|\n| %s |\n", strings.Join(rows, " |\n| "))
	}
}
