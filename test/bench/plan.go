package main

import (
	"fmt"
	"slices"
	"time"
)

// The works that are measured.
const (
	workStart    = "version --client" // what it takes to start
	workCreate   = "create"
	workAgain    = "again"   // apply again, nothing changed
	workChange   = "change"  // apply again, 1 % changed
	workConfirm  = "confirm" // change back as a plan shows it, which is made before
	workRewrite  = "change all"
	workOutright = "confirm all" // change all back as a plan shows it
	workDiff     = "diff"        // nothing changed
	workWait     = "wait"        // for a condition that is already met
	workDelete   = "delete"      // by manifest
	workSet      = "create a set"
	workSetAgain = "set again"
	workPrune    = "prune a tenth" // of the set
)

// allWorks returns the works in the order in which they are done.
func allWorks() []string {
	return append([]string{workStart, workCreate, workAgain, workChange, workConfirm, workRewrite, workOutright, workDiff, workWait, workDelete}, setWorks()...)
}

// setWorks returns the works on a set, which are done in a namespace of their own.
func setWorks() []string { return []string{workSet, workSetAgain, workPrune} }

const (
	large   = 10_000 // objects: large enough to measure memory
	largest = 100_000
	far     = 100 * time.Millisecond
)

// cell is a sample at a round-trip time, measured with all tools.
type cell struct {
	sample sample
	rtt    time.Duration
	works  []string
	n      int
	// controllers reports whether the work needs the cluster's controllers.
	controllers bool
	// asSet creates the objects as a set from the start.
	asSet bool
}

func (c cell) String() string { return fmt.Sprintf("%s, %s", c.sample.title, c.rtt) }

// plan returns the cells that the options ask for, generated samples first.
func plan(dir string, o options, note func(format string, args ...any)) ([]cell, error) {
	var samples []sample
	for _, count := range o.counts {
		for _, kind := range o.kinds {
			if count == largest && kind != "ConfigMap" {
				continue // etcd has no room for them
			}
			s, err := generated(dir, kind, count)
			if err != nil {
				return nil, err
			}
			samples = append(samples, s)
		}
	}
	sets, err := realSamples(dir, o.sets, note)
	if err != nil {
		return nil, err
	}
	var cells []cell
	for _, s := range append(samples, sets...) {
		for _, rtt := range o.rtts {
			if s.count < large || rtt == 0 { // Latency does not affect memory.
				cells = append(cells, cellsOf(s, rtt, o)...)
			}
		}
	}
	return cells, nil
}

// cellsOf returns the cells of a sample: its works, its deletion if that needs controllers, and the
// works on a set.
func cellsOf(s sample, rtt time.Duration, o options) []cell {
	works := []string{workCreate, workAgain, workChange, workConfirm, workRewrite, workOutright, workDiff, workWait, workDelete}
	n := o.n
	switch {
	case s.foreign():
		works, n = []string{workCreate, workAgain, workDiff}, o.setN
	case s.count == 1:
		works = append([]string{workStart}, works...)
	case s.count >= large:
		works = []string{workCreate, workAgain, workWait}
	}
	var cells []cell
	add := func(c cell) {
		c.sample, c.rtt, c.n = s, rtt, n
		c.works = slices.DeleteFunc(c.works, func(work string) bool { return !slices.Contains(o.works, work) })
		if len(c.works) > 0 {
			cells = append(cells, c)
		}
	}
	add(cell{works: works})
	if s.foreign() && s.title != platform {
		// Without controllers, a namespace is never removed; with them, applied objects change.
		add(cell{works: []string{workDelete}, controllers: true})
	}
	if s.kind == "ConfigMap" && s.count > 1 && s.count <= large {
		add(cell{works: setWorks(), asSet: true})
	}
	return cells
}

// leftOut reports whether kubectl skips the cell. It does some works object by object, which takes
// minutes, and is as slow for Deployments as for ConfigMaps.
func (c cell) leftOut() bool {
	return c.sample.count >= large || c.sample.title == platform || c.sample.count >= 1000 && c.rtt > 0 && c.sample.kind != "ConfigMap"
}

// bound returns the plugin's limits for the table. The seconds for 1,000 objects are a third of
// what kapp, the fastest other tool, took on another two-core machine.
func bound(c cell, work string) string {
	seconds := map[time.Duration][]string{0: {"0.47 s", "0.53 s"}, 20 * time.Millisecond: {"0.77 s", "0.60 s"}, far: {"1.27 s", "1.53 s"}}[c.rtt]
	switch {
	case work == workStart:
		return "30 ms CPU"
	case c.sample.title == platform && work == workCreate:
		return "1.3× limit, 200 MB"
	case c.sample.title == platform:
		return map[bool]string{true: "1.5× limit, 200 MB", false: "2.5× limit, 200 MB"}[c.rtt > 0]
	case c.sample.foreign() && (work == workCreate || work == workDelete):
		return "1.2× limit"
	case c.sample.foreign() && c.rtt == 0:
		return "2.5× limit"
	case c.sample.foreign():
		return "1.5× limit"
	case c.sample.count == largest:
		return "1,000 MB"
	case c.sample.count == large:
		return "250 MB"
	case c.sample.count != 1000:
		return ""
	case work == workConfirm:
		return "1.3× " + workChange
	case work == workOutright:
		return "1.7× " + workRewrite
	case work == workCreate:
		return "1.3× limit, 120 MB"
	case work == workDelete:
		return "1.2× limit"
	case work == workAgain && seconds != nil:
		return seconds[0] + ", 120 MB"
	case work == workDiff && seconds != nil:
		return seconds[1]
	}
	return ""
}
