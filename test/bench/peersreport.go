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

func peerTools() []string { return []string{toolKubectl, toolFlux, toolHelm} }

// rival is one tool beside the plugin: what it takes for a work, and what the plugin takes.
type rival struct {
	row        *row
	ours, took float64 // seconds
}

func (r rival) ahead() bool { return r.ours < r.took }

// rivals are all measurements of other tools that have one of the plugin beside them.
func (r *results) rivals(sample string) []rival {
	var all []rival
	for _, work := range peerWorks() {
		for _, rtt := range r.rtts(sample) {
			ours := r.find(sample, work, toolPlugin, rtt).median(seconds)
			for _, tool := range peerTools() {
				row := r.find(sample, work, tool, rtt)
				if took := row.median(seconds); !math.IsNaN(took) && !math.IsNaN(ours) {
					all = append(all, rival{row, ours, took})
				}
			}
		}
	}
	return all
}

// ahead says in how many cells the plugin is ahead of a tool, and names the others.
func (r *results) ahead(out io.Writer) {
	cells, behind := 0, []string{}
	var samples []string
	for _, row := range r.Rows {
		if !slices.Contains(samples, row.Sample) {
			samples = append(samples, row.Sample)
		}
	}
	for _, sample := range samples {
		for _, rival := range r.rivals(sample) {
			cells++
			if !rival.ahead() {
				behind = append(behind, fmt.Sprintf("%s, %s, %d ms, %s: %s s beside %s s",
					sample, rival.row.Work, rival.row.RTTMillis, rival.row.Tool, decimal(rival.ours), decimal(rival.took)))
			}
		}
	}
	fmt.Fprintf(out, "\nThe plugin is ahead in %d of %d comparisons.\n", cells-len(behind), cells)
	if len(behind) > 0 {
		fmt.Fprintf(out, "\nNot ahead:\n\n- %s\n", strings.Join(behind, "\n- "))
	}
}

const besidesHead = `
### %s

| work | RTT | tool | seconds | n | of the plugin's | ahead | requests | peak MB | CPU s |
| --- | --: | --- | --: | --: | --: | --- | --: | --: | --: |
`

// besides prints the rows of a sample, the plugin's first.
func (r *results) besides(out io.Writer, sample string) {
	fmt.Fprintf(out, besidesHead, sample)
	for _, work := range peerWorks() {
		for _, rtt := range r.rtts(sample) {
			ours := r.find(sample, work, toolPlugin, rtt).median(seconds)
			for _, tool := range append([]string{toolPlugin}, peerTools()...) {
				if row := r.find(sample, work, tool, rtt); row != nil {
					beside(out, row, rtt, ours)
				}
			}
		}
	}
}

func beside(out io.Writer, row *row, rtt time.Duration, ours float64) {
	took, verdict := row.median(seconds), ""
	switch {
	case row.Tool == toolPlugin || math.IsNaN(ours):
	case ours < took:
		verdict = "yes"
	default:
		verdict = "**no**"
	}
	cells := []string{
		row.Work, fmt.Sprintf("%d ms", rtt.Milliseconds()), row.Tool, decimal(took), strconv.Itoa(len(row.Runs)),
		ratio(took / ours), verdict,
		lab.Thousands(int(row.median(requests))), lab.Thousands(int(math.Round(row.median(peakMB)))), decimal(row.median(cpuSeconds)),
	}
	fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
}
