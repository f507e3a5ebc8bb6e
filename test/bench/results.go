package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// results are the measurements; as JSON they serve to compare runs.
type results struct {
	Started  time.Time
	Took     float64 // seconds
	System   string
	CPUs     int
	Startup  *startup // nil if it was not measured
	Peers    bool     `json:",omitempty"` // whether the plugin was compared with other tools
	Growth   bool     `json:",omitempty"` // whether its growth was measured
	Rows     []*row
	Notes    []string // what was left out, and why
	Failures []string // what a tool did wrong
}

// row is all runs of one tool at one work.
type row struct {
	Sample    string
	Kind      string `json:",omitempty"` // for generated samples
	Count     int    `json:",omitempty"`
	RTTMillis int64
	Work      string
	Tool      string
	Workers   int `json:",omitempty"` // for the raw client
	Runs      []lab.Measured
}

func newResults() *results {
	return &results{
		Started: time.Now(),
		System:  runtime.GOOS + "/" + runtime.GOARCH,
		CPUs:    runtime.NumCPU(),
	}
}

// note adds a remark, once.
func (r *results) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// add adds a run to its row.
func (r *results) add(c cell, work, tool string, workers int, m lab.Measured) {
	one := r.find(c.sample.Title, work, tool, c.rtt)
	if one == nil {
		one = &row{
			Sample: c.sample.Title, Kind: c.kind, Count: c.count,
			RTTMillis: c.rtt.Milliseconds(), Work: work, Tool: tool,
		}
		if tool == toolPatch || tool == toolLook {
			one.Workers = workers
		}
		r.Rows = append(r.Rows, one)
	}
	one.Runs = append(one.Runs, m)
}

// find returns the row of a tool, or nil.
func (r *results) find(sample, work, tool string, rtt time.Duration) *row {
	for _, one := range r.Rows {
		if one.Sample == sample && one.Work == work && one.Tool == tool && one.RTTMillis == rtt.Milliseconds() {
			return one
		}
	}
	return nil
}

func (r *results) write(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// readResults reads what write wrote.
func readResults(path string) (*results, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &results{}
	return r, json.Unmarshal(text, r)
}

// median of a quantity over the row's runs; NaN for no row.
func (r *row) median(of func(lab.Measured) float64) float64 {
	if r == nil || len(r.Runs) == 0 {
		return math.NaN()
	}
	values := make([]float64, len(r.Runs))
	for i, m := range r.Runs {
		values[i] = of(m)
	}
	return medianOf(values)
}

func medianOf(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func seconds(m lab.Measured) float64    { return m.Seconds }
func cpuSeconds(m lab.Measured) float64 { return m.CPUSeconds }
func peakMB(m lab.Measured) float64     { return float64(m.PeakBytes) / 1e6 }
func requests(m lab.Measured) float64   { return float64(m.Requests) }
func sentKB(m lab.Measured) float64     { return float64(m.Sent) / 1e3 }
func receivedKB(m lab.Measured) float64 { return float64(m.Received) / 1e3 }
