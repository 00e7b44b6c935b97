package main

import (
	"fmt"
	"math"
	"strings"
)

// A plot has panels side by side, each with a logarithmic axis of Collectors, and a logarithmic one upwards.
const (
	panelWidth, panelHeight = 330.0, 240.0
	panelLeft, panelTop     = 60.0, 40.0
	panelPitch              = 420.0
	legend                  = 56.0 // below the panel
)

// line is one line of a panel.
type line struct {
	name, color, dashes string
	points              [][2]float64
}

// svg plots CPU per Collector, and peak memory, against the number of Collectors.
func (s *scaleFigures) svg() string {
	cpu := []line{
		{"install, ours", "#0b6e4f", "", points(s.Ours, cpuOf("install"))},
		{"config change, ours", "#1b9e77", "6 3", points(s.Ours, cpuOf("configChange"))},
		{"restart, ours", "#66c2a5", "2 3", points(s.Ours, cpuOf("restart"))},
		{"install, stock", "#a63603", "", points(s.Stock, cpuOf("install"))},
		{"config change, stock", "#e6550d", "6 3", points(s.Stock, cpuOf("configChange"))},
		{"restart, stock", "#fdae6b", "2 3", points(s.Stock, cpuOf("restart"))},
	}
	peak := func(f figures) float64 { return f.PeakMiB }
	memory := []line{
		{"ours", "#0b6e4f", "", points(s.Ours, peak)},
		{"stock", "#a63603", "", points(s.Stock, peak)},
	}
	var out strings.Builder
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"390\" font-family=\"sans-serif\" font-size=\"11\">\n",
		2*panelPitch)
	out.WriteString("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n")
	panel(&out, panelLeft, "CPU per Collector, ms", cpu)
	panel(&out, panelLeft+panelPitch, "Peak memory, MiB", memory)
	out.WriteString("</svg>\n")
	return out.String()
}

func cpuOf(name string) func(figures) float64 {
	return func(f figures) float64 { return f.Phases[name].CPUMillis }
}

func points(of []scalePoint, figure func(figures) float64) [][2]float64 {
	var found [][2]float64
	for _, point := range of {
		if y := figure(point.Figures); y > 0 { // others have no logarithm
			found = append(found, [2]float64{float64(point.Collectors), y})
		}
	}
	return found
}

// axis maps numbers to places, by their logarithms.
type axis struct{ from, to, start, length float64 }

// newAxis returns an axis of whole decades that has all numbers on it.
func newAxis(numbers []float64, start, length float64) axis {
	a := axis{math.Inf(1), math.Inf(-1), start, length}
	for _, number := range numbers {
		a.from = min(a.from, math.Floor(math.Log10(number)))
		a.to = max(a.to, math.Ceil(math.Log10(number)))
	}
	if a.to <= a.from {
		a.to = a.from + 1
	}
	return a
}

func (a axis) at(number float64) float64 {
	return a.start + a.length*(math.Log10(number)-a.from)/(a.to-a.from)
}

func panel(out *strings.Builder, left float64, title string, lines []line) {
	var xs, ys []float64
	for _, l := range lines {
		for _, point := range l.points {
			xs, ys = append(xs, point[0]), append(ys, point[1])
		}
	}
	if len(xs) == 0 {
		return
	}
	bottom := panelTop + panelHeight
	x, y := newAxis(xs, left, panelWidth), newAxis(ys, bottom, -panelHeight)
	fmt.Fprintf(out, "<text x=\"%.0f\" y=\"24\" font-size=\"14\">%s</text>\n", left, title)
	fmt.Fprintf(out, "<text x=\"%.0f\" y=\"%.0f\">Collectors</text>\n", left+panelWidth/2-25, bottom+34)
	for decade := x.from; decade <= x.to; decade++ {
		at := x.at(math.Pow(10, decade))
		fmt.Fprintf(out, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>\n",
			at, panelTop, bottom, at, bottom+16, math.Pow(10, decade))
	}
	for decade := y.from; decade <= y.to; decade++ {
		at := y.at(math.Pow(10, decade))
		fmt.Fprintf(out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
			left, at, left+panelWidth, left-6, at+4, math.Pow(10, decade))
	}
	for i, l := range lines {
		if len(l.points) == 0 {
			continue
		}
		var path strings.Builder
		for _, point := range l.points {
			fmt.Fprintf(&path, " %.1f,%.1f", x.at(point[0]), y.at(point[1]))
		}
		stroke := fmt.Sprintf("fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\"", l.color, l.dashes)
		fmt.Fprintf(out, "<polyline points=\"%s\" %s/>\n", path.String()[1:], stroke)
		// The legend, in columns of three.
		column, row := left+float64(i/3)*panelWidth/2, bottom+legend+float64(i%3)*16
		fmt.Fprintf(out, "<path d=\"M%.1f %.1fh28\" %s/><text x=\"%.1f\" y=\"%.1f\">%s</text>\n", column, row, stroke, column+34, row+4, l.name)
	}
}
