package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// report prints the results as Markdown.
func (r *results) report(out io.Writer) {
	r.when(out)
	if r.Peers {
		r.ahead(out)
	} else {
		r.targets(out)
	}
	if r.Growth {
		fmt.Fprint(out, "\n### Growth\n\n")
		r.growthTable(out)
	}
	r.rows(out)
}

// when says when and where it was measured.
func (r *results) when(out io.Writer) {
	fmt.Fprintf(out, "Measured on %s with %s, %d CPUs that the API server and the tools share; it took %s.\n",
		r.Started.UTC().Format(time.DateOnly), r.System, r.CPUs, time.Duration(r.Took*float64(time.Second)).Round(time.Second))
}

// rows print all rows, what was left out and what was wrong.
func (r *results) rows(out io.Writer) {
	var samples []string
	for _, row := range r.Rows {
		if !slices.Contains(samples, row.Sample) {
			samples = append(samples, row.Sample)
		}
	}
	for _, sample := range samples {
		if r.Peers {
			r.besides(out, sample)
		} else {
			r.table(out, sample)
		}
	}
	if len(r.Notes) > 0 {
		fmt.Fprint(out, "\nLeft out:\n\n")
		for _, note := range r.Notes {
			fmt.Fprintf(out, "- %s\n", note)
		}
	}
	if len(r.Failures) > 0 {
		fmt.Fprint(out, "\nWrong:\n\n")
		for _, failure := range r.Failures {
			fmt.Fprintf(out, "- %s\n", strings.ReplaceAll(failure, "\n", "\n  "))
		}
	}
}

const tableHead = `
### %s

| work | RTT | tool | seconds | n | kubectl takes | of the limit | requests | kB sent | kB received | peak MB | CPU s |
| --- | --: | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |
`

// table prints the rows of a sample: by work, round-trip time and tool.
func (r *results) table(out io.Writer, sample string) {
	fmt.Fprintf(out, tableHead, sample)
	tools := []string{toolPlugin, toolKubectl, toolPatch, toolLook}
	for _, work := range allWorks() {
		for _, rtt := range r.rtts(sample) {
			for _, tool := range tools {
				if row := r.find(sample, work, tool, rtt); row != nil {
					r.line(out, row, rtt)
				}
			}
		}
	}
}

func (r *results) line(out io.Writer, row *row, rtt time.Duration) {
	took := row.median(seconds)
	kubectl := r.find(row.Sample, row.Work, toolKubectl, rtt).median(seconds)
	limit := r.find(row.Sample, row.Work, toolPatch, rtt).median(seconds)
	tool := row.Tool
	if row.Workers > 0 {
		tool += " ×" + strconv.Itoa(row.Workers)
	}
	cells := []string{
		row.Work, fmt.Sprintf("%d ms", row.RTTMillis), tool,
		decimal(took), strconv.Itoa(len(row.Runs)),
		ratio(kubectl / took), ratio(took / limit),
		lab.Thousands(int(row.median(requests))), lab.Thousands(int(row.median(sentKB))), lab.Thousands(int(row.median(receivedKB))),
		lab.Thousands(int(math.Round(row.median(peakMB)))), decimal(row.median(cpuSeconds)),
	}
	fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
}

func (r *results) rtts(sample string) []time.Duration {
	var rtts []time.Duration
	for _, row := range r.Rows {
		if rtt := time.Duration(row.RTTMillis) * time.Millisecond; row.Sample == sample && !slices.Contains(rtts, rtt) {
			rtts = append(rtts, rtt)
		}
	}
	slices.Sort(rtts)
	return rtts
}

// decimal shows two digits after the point, or one where there are many before it.
func decimal(f float64) string {
	switch {
	case math.IsNaN(f):
		return "–"
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	default:
		return fmt.Sprintf("%.2f", f)
	}
}

func ratio(f float64) string {
	if math.IsNaN(f) {
		return "–"
	}
	return decimal(f) + "×"
}
