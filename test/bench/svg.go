package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// A panel of the picture, in its units.
const (
	panelWidth, panelHeight = 360, 240
	panelLeft, panelTop     = 56, 40
	panelApart              = panelWidth + 110
)

// growthPicture draws how seconds and memory grow with the number of objects: both axes
// in powers of ten, so that a line at 45 degrees is what grows with the objects.
func growthPicture(counts []int, works []grown) string {
	var b strings.Builder
	width := panelLeft + panelApart + panelWidth + 100
	height := panelTop + panelHeight + 50
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	b.WriteString("<title>Seconds and peak memory of each work, from 100 to 100,000 ConfigMaps</title>\n")
	b.WriteString("<style>text{fill:#57606a}.grid{stroke:#8c959f;stroke-opacity:.35}polyline{fill:none;stroke-width:2}" +
		"@media (prefers-color-scheme:dark){text{fill:#9198a1}}</style>\n")
	panels := []struct {
		title string
		of    func(grown) []float64
	}{
		{"seconds", func(g grown) []float64 { return g.seconds }},
		{"peak memory, MB", func(g grown) []float64 { return g.memory }},
	}
	for i, p := range panels {
		values := make([][]float64, len(works))
		for j, g := range works {
			values[j] = p.of(g)
		}
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", panelLeft+i*panelApart, panelTop)
		panel(&b, p.title, counts, works, values)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// colors tell the works apart, in both schemes.
func colors() []string { return []string{"#1f77b4", "#d9730d", "#2a9d4e", "#c0392b", "#8e5bc4"} }

func panel(b *strings.Builder, title string, counts []int, works []grown, values [][]float64) {
	low, high := decades(values)
	x := axis(float64(counts[0]), float64(counts[len(counts)-1]), 0, panelWidth)
	y := axis(low, high, panelHeight, 0)
	fmt.Fprintf(b, `<text y="-14" font-weight="bold">%s</text>`+"\n", title)
	for v := low; v <= high*1.01; v *= 10 {
		fmt.Fprintf(b, `<line class="grid" x2="%d" y1="%.1f" y2="%.1f"/><text x="-8" y="%.1f" text-anchor="end">%s</text>`+"\n", panelWidth, y(v), y(v), y(v)+4, power(v))
	}
	for _, count := range counts {
		at := x(float64(count))
		fmt.Fprintf(b, `<line class="grid" y2="%d" x1="%.1f" x2="%.1f"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			panelHeight, at, at, at, panelHeight+20, lab.Thousands(count))
	}
	ends := make([]float64, len(works))
	for i := range works {
		ends[i] = line(b, colors()[i%len(colors())], counts, values[i], x, y)
	}
	names(b, works, ends)
}

// line draws what was measured, and returns the height of its end.
func line(b *strings.Builder, color string, counts []int, values []float64, x, y func(float64) float64) (end float64) {
	var points []string
	for i, v := range values {
		if !math.IsNaN(v) && v > 0 {
			end = y(v)
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(float64(counts[i])), end))
		}
	}
	fmt.Fprintf(b, `<polyline stroke="%s" points="%s"/>`+"\n", color, strings.Join(points, " "))
	for _, at := range points {
		cx, cy, _ := strings.Cut(at, ",")
		fmt.Fprintf(b, `<circle fill="%s" cx="%s" cy="%s" r="3"/>`+"\n", color, cx, cy)
	}
	return end
}

// names writes each work's name beside the end of its line, none over another.
func names(b *strings.Builder, works []grown, ends []float64) {
	const apart = 15
	order := make([]int, len(works))
	for i := range order {
		order[i] = i
		for j := i; j > 0 && ends[order[j]] < ends[order[j-1]]; j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
	last := math.Inf(-1)
	for _, i := range order {
		last = max(ends[i]+4, last+apart)
		fmt.Fprintf(b, `<text x="%d" y="%.1f" style="fill:%s">%s</text>`+"\n", panelWidth+10, last, colors()[i%len(colors())], works[i].work)
	}
}

// axis maps values between two bounds to a stretch, by their logarithms.
func axis(low, high, from, to float64) func(float64) float64 {
	return func(v float64) float64 { return from + (to-from)*math.Log(v/low)/math.Log(high/low) }
}

// decades are the powers of ten around all values.
func decades(values [][]float64) (low, high float64) {
	least, most := math.Inf(1), math.Inf(-1)
	for _, series := range values {
		for _, v := range series {
			if !math.IsNaN(v) && v > 0 {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	if least > most {
		return 1, 10
	}
	low = math.Pow(10, math.Floor(math.Log10(least)))
	high = math.Pow(10, math.Ceil(math.Log10(most)))
	return low, max(high, low*10)
}

func power(v float64) string {
	if v >= 1 {
		return lab.Thousands(int(math.Round(v)))
	}
	return fmt.Sprint(math.Round(v*1000) / 1000)
}
