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
	name   string
	points plotter.XYs
}

// systems are the lines of ours, and those of the stock operator.
type systems [2][]line

// The lines of a system differ in colour and dashes.
var (
	colors = [2][]color.RGBA{
		{{0x0b, 0x6e, 0x4f, 0xff}, {0x1b, 0x9e, 0x77, 0xff}, {0x66, 0xc2, 0xa5, 0xff}},
		{{0xa6, 0x36, 0x03, 0xff}, {0xe6, 0x55, 0x0d, 0xff}, {0xfd, 0xae, 0x6b, 0xff}},
	}
	dashes = [][]vg.Length{nil, {6, 3}, {2, 3}}
)

// svg plots CPU per Collector, and peak memory, against the number of Collectors.
func (s *scaleFigures) svg() ([]byte, error) {
	var cpu, memory systems
	for i, of := range [][]scalePoint{s.Ours, s.Stock} {
		name := []string{ours, stock}[i]
		cpu[i] = []line{
			{"install, " + name, points(of, cpuOf("install"))},
			{"config change, " + name, points(of, cpuOf("configChange"))},
			{"restart, " + name, points(of, cpuOf("restart"))},
		}
		memory[i] = []line{{name, points(of, func(f figures) float64 { return f.PeakMiB })}}
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

func cpuOf(name string) func(figures) float64 {
	return func(f figures) float64 { return f.Phases[name].CPUMillis }
}

func points(of []scalePoint, figure func(figures) float64) (found plotter.XYs) {
	for _, point := range of {
		if y := figure(point.Figures); y > 0 { // others have no logarithm
			found = append(found, plotter.XY{X: float64(point.Collectors), Y: y})
		}
	}
	return found
}

// panel draws lines, and below them a legend with a column for each system.
func panel(to draw.Canvas, title string, lines systems) error {
	p := plot.New()
	p.BackgroundColor, p.Title.Text, p.X.Label.Text = nil, title, "Collectors"
	p.Add(plotter.NewGrid())
	var legends [2]plot.Legend
	for i, system := range lines {
		legends[i] = plot.NewLegend()
		for j, l := range system {
			if len(l.points) == 0 {
				continue
			}
			drawn, dots, err := plotter.NewLinePoints(l.points)
			if err != nil {
				return fmt.Errorf("plot %s, %s: %w", title, l.name, err)
			}
			drawn.LineStyle = draw.LineStyle{Color: colors[i][j], Width: 1.5, Dashes: dashes[j]}
			dots.GlyphStyle = draw.GlyphStyle{Color: colors[i][j], Radius: 2, Shape: draw.CircleGlyph{}}
			p.Add(drawn, dots)
			legends[i].Add(l.name, drawn)
		}
	}
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		if math.IsInf(axis.Min, 0) {
			return nil // there is no line
		}
		// Whole decades: these have labels.
		axis.Min, axis.Max = math.Pow10(int(math.Floor(math.Log10(axis.Min)))), math.Pow10(int(math.Ceil(math.Log10(axis.Max))))
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
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

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}
