package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// results are the measurements.
type results struct {
	started  time.Time
	rows     []*row
	notes    []string // what was skipped, and why
	failures []string // what a tool did wrong
}

// row contains all runs of one tool for one work.
type row struct {
	cell       cell
	work, tool string
	runs       []measured
}

// note adds a remark, unless it was already added.
func (r *results) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// add adds a run to its row.
func (r *results) add(c cell, work, tool string, m measured) {
	one := r.find(c.sample.title, work, tool, c.rtt)
	if one == nil {
		one = &row{cell: c, work: work, tool: tool}
		r.rows = append(r.rows, one)
	}
	one.runs = append(one.runs, m)
}

// find returns the row of a tool, or nil.
func (r *results) find(sample, work, tool string, rtt time.Duration) *row {
	for _, one := range r.rows {
		if one.cell.sample.title == sample && one.work == work && one.tool == tool && one.cell.rtt == rtt {
			return one
		}
	}
	return nil
}

// report prints the results as Markdown: a table for each sample, sorted by work, round-trip
// time and tool.
func (r *results) report(out io.Writer) {
	fmt.Fprintf(out, "Measured on %s with %s/%s, %d CPUs that the API server and the tools share; it took %s.\n",
		r.started.UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), time.Since(r.started).Round(time.Second))
	var samples []string
	for _, one := range r.rows {
		if !slices.Contains(samples, one.cell.sample.title) {
			samples = append(samples, one.cell.sample.title)
		}
	}
	for _, sample := range samples {
		fmt.Fprintf(out, "\n### %s\n\n", sample)
		fmt.Fprint(out, "| work | RTT | tool | seconds | n | of k8sconnect | of the limit | bound | requests | kB sent | kB received | peak MB | CPU ms |\n")
		fmt.Fprint(out, "| --- | --: | --- | --: | --: | --: | --: | --- | --: | --: | --: | --: | --: |\n")
		rows := slices.DeleteFunc(slices.Clone(r.rows), func(one *row) bool { return one.cell.sample.title != sample })
		slices.SortStableFunc(rows, func(a, b *row) int {
			if a.work != b.work {
				return slices.Index(allWorks(), a.work) - slices.Index(allWorks(), b.work)
			}
			return int(a.cell.rtt - b.cell.rtt)
		})
		for _, one := range rows {
			r.line(out, one)
		}
	}
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(out, "\n%s:\n\n- %s\n", title, strings.Join(lines, "\n- "))
		}
	}
	section("Left out", r.notes)
	section("Wrong", r.failures)
}

func (r *results) line(out io.Writer, one *row) {
	seconds := func(of *row) float64 { return of.median(func(m measured) float64 { return m.Seconds }) }
	beside := func(tool string) float64 { return seconds(r.find(one.cell.sample.title, one.work, tool, one.cell.rtt)) }
	number := func(of func(measured) float64) string { return thousands(int(math.Round(one.median(of)))) }
	kept := ""
	if one.tool == toolPlugin {
		kept = bound(one.cell, one.work)
	}
	took := seconds(one)
	cells := []string{
		one.work, fmt.Sprintf("%d ms", one.cell.rtt.Milliseconds()), one.tool, decimal(took), strconv.Itoa(len(one.runs)),
		ratio(took / beside(toolPlugin)), ratio(took / beside(toolRaw)), kept,
		number(func(m measured) float64 { return float64(m.requests) }),
		number(func(m measured) float64 { return float64(m.sent) / 1e3 }),
		number(func(m measured) float64 { return float64(m.received) / 1e3 }),
		number(func(m measured) float64 { return float64(m.PeakBytes) / 1e6 }),
		number(func(m measured) float64 { return m.CPUSeconds * 1e3 }),
	}
	fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
}

// median returns the median of a quantity over the row's runs, or NaN if r is nil.
func (r *row) median(of func(measured) float64) float64 {
	if r == nil {
		return math.NaN()
	}
	values := make([]float64, len(r.runs))
	for i, m := range r.runs {
		values[i] = of(m)
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// decimal formats a number with two decimals, or fewer if it is large.
func decimal(f float64) string {
	digits := 2
	switch {
	case math.IsNaN(f):
		return "–"
	case f >= 100:
		digits = 0
	case f >= 10:
		digits = 1
	}
	return strconv.FormatFloat(f, 'f', digits, 64)
}

func ratio(f float64) string {
	if math.IsNaN(f) {
		return "–"
	}
	return decimal(f) + "×"
}
