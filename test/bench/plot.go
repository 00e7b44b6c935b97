package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Lengths in points: the chart, what its legend takes of that, and the margin of a panel.
const chartWidth, chartHeight, legendHeight, margin vg.Length = 640, 320, 64, 12

// line is one line of a panel.
type line struct {
	system string // which gives it its color
	phase  string // which gives it its dashes
	points plotter.XYs
}

// The lines of a system have one color, and those of a phase the same dashes.
var (
	colors = map[string]color.Color{
		ours: color.RGBA{0x0b, 0x6e, 0x4f, 0xff}, stock: color.RGBA{0xd9, 0x5f, 0x02, 0xff}, peer: color.RGBA{0x54, 0x4c, 0x9e, 0xff},
	}
	dashes = map[string][]vg.Length{"install": nil, "config change": {6, 3}, "restart": {2, 3}}
)

// plotted are the phases of which CPU is plotted, by the names in the legend.
var plotted = []struct{ name, phase string }{{"install", "install"}, {"config change", "configChange"}, {"restart", "restart"}}

// svg plots CPU per Collector, and peak memory, against the number of Collectors.
func (s *scaleFigures) svg() ([]byte, error) {
	var cpu, memory []line
	for _, system := range allSystems {
		for _, p := range plotted {
			cpu = append(cpu, line{system, p.name, points(s.Points[system], func(f figures) float64 { return f.Phases[p.phase].CPUMillis })})
		}
		memory = append(memory, line{system, "", points(s.Points[system], func(f figures) float64 { return f.PeakMiB })})
	}
	canvas := vgsvg.New(chartWidth, chartHeight)
	chart := draw.New(canvas)
	chart.SetColor(color.White) // a page may be dark
	chart.Fill(chart.Path())
	if err := panel(draw.Crop(chart, 0, -chartWidth/2, 0, 0), "CPU per Collector, ms", cpu); err != nil {
		return nil, err
	}
	if err := panel(draw.Crop(chart, chartWidth/2, 0, 0, 0), "Peak memory, MiB", memory); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("write the chart: %w", err)
	}
	// Few readers have this font. Arial is as wide.
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,sans-serif;")), nil
}

func points(of []scalePoint, figure func(figures) float64) (found plotter.XYs) {
	for _, point := range of {
		if y := figure(point.Figures); y > 0 { // others have no logarithm
			found = append(found, plotter.XY{X: float64(point.Collectors), Y: y})
		}
	}
	return found
}

// panel draws lines, and below them a legend with a column for systems and one for phases.
func panel(to draw.Canvas, title string, lines []line) error {
	p := plot.New()
	p.BackgroundColor, p.Title.Text, p.X.Label.Text = nil, title, "Collectors"
	p.Add(plotter.NewGrid())
	legends := [2]plot.Legend{plot.NewLegend(), plot.NewLegend()}
	named := map[string]bool{"": true}
	name := func(column int, name string, style draw.LineStyle) {
		if !named[name] {
			named[name] = true
			legends[column].Add(name, &plotter.Line{LineStyle: style})
		}
	}
	for _, l := range lines {
		if len(l.points) == 0 {
			continue
		}
		drawn, dots, err := plotter.NewLinePoints(l.points)
		if err != nil {
			return fmt.Errorf("plot %s, %s: %w", title, l.system, err)
		}
		drawn.LineStyle = draw.LineStyle{Color: colors[l.system], Width: 1.5, Dashes: dashes[l.phase]}
		dots.GlyphStyle = draw.GlyphStyle{Color: colors[l.system], Radius: 2, Shape: draw.CircleGlyph{}}
		p.Add(drawn, dots)
		name(0, l.system, draw.LineStyle{Color: colors[l.system], Width: 1.5})
		name(1, l.phase, draw.LineStyle{Color: color.Black, Width: 1.5, Dashes: dashes[l.phase]})
	}
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		if math.IsInf(axis.Min, 0) {
			return nil // there is no line
		}
		axis.Min, axis.Max = math.Pow10(int(math.Floor(math.Log10(axis.Min)))), above(axis.Max)
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, ticks{}
		axis.Label.TextStyle.Font, axis.Tick.Label.Font = sans(9), sans(9)
	}
	p.Title.TextStyle.Font, p.Title.Padding = sans(12), margin
	p.Draw(draw.Crop(to, margin, -2*margin, legendHeight, -margin))
	for i, legend := range legends {
		legend.Left, legend.Top, legend.Padding, legend.TextStyle.Font = true, true, 3, sans(9)
		legend.Draw(draw.Crop(to, 3*margin+chartWidth/4*vg.Length(i), 0, 0, legendHeight-margin-chartHeight))
	}
	return nil
}

// above returns the first of 1, 2 and 5, times a power of 10, that is not less.
func above(most float64) float64 {
	decade := math.Pow10(int(math.Floor(math.Log10(most))))
	for _, times := range []float64{1, 2, 5} {
		if times*decade >= most {
			return times * decade
		}
	}
	return 10 * decade
}

// ticks label whole decades. A space keeps labels away from the axis in fonts that are wider.
type ticks struct{}

// Ticks returns the ticks of an axis.
func (ticks) Ticks(least, most float64) []plot.Tick {
	found := plot.LogTicks{Prec: -1}.Ticks(least, most)
	for i, tick := range found {
		if tick.Label != "" {
			found[i].Label += " "
		}
	}
	return found
}

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}
