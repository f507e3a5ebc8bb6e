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
	workAgain    = "again"  // apply again, nothing changed
	workChange   = "change" // apply again, 1 % changed
	workDiff     = "diff"   // nothing changed
	workWait     = "wait"   // for a condition that is already met
	workDelete   = "delete" // by manifest
	workSet      = "create a set"
	workSetAgain = "set again"
	workPrune    = "prune a tenth" // of the set
)

// allWorks are in the order in which they are done.
func allWorks() []string {
	return append([]string{workStart, workCreate, workAgain, workChange, workDiff, workWait, workDelete}, setWorks()...)
}

// setWorks are done one after the other in a namespace of their own.
func setWorks() []string { return []string{workSet, workSetAgain, workPrune} }

const (
	large   = 10_000 // objects: here memory counts
	largest = 100_000
	far     = 100 * time.Millisecond
)

// cell is measured side by side: a sample at a round-trip time.
type cell struct {
	sample sample
	rtt    time.Duration
	works  []string
	n      int
	// controllers: the controllers do a part of the work.
	controllers bool
	// asSet: the objects are created as a set, and not before.
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
			if s.count < large || rtt == 0 { // The network costs no memory.
				cells = append(cells, cellsOf(s, rtt, o)...)
			}
		}
	}
	return cells, nil
}

// cellsOf are the cells of a sample: its works, its deletion if that needs controllers, and
// the works on a set.
func cellsOf(s sample, rtt time.Duration, o options) []cell {
	works := []string{workCreate, workAgain, workChange, workDiff, workWait, workDelete}
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
	if s.foreign() {
		// Without controllers, a namespace never goes; with them, nothing stays as it was
		// applied.
		add(cell{works: []string{workDelete}, controllers: true})
	}
	if s.kind == "ConfigMap" && s.count > 1 && s.count <= large {
		add(cell{works: setWorks(), asSet: true})
	}
	return cells
}

// leftOut reports whether kubectl does not do the works of a cell: it does some things one
// object after the other, which takes minutes, and takes as long for Deployments as for
// ConfigMaps.
func (c cell) leftOut() bool {
	return c.sample.count >= large || c.sample.count >= 1000 && c.rtt > 0 && c.sample.kind != "ConfigMap"
}

// bound is a bound that the plugin should keep, as the table shows it. Seconds of 1,000
// objects are a third of what kapp, the fastest other tool, took on another two-core
// machine.
func bound(c cell, work string) string {
	seconds := map[time.Duration][]string{0: {"0.47 s", "0.53 s"}, 20 * time.Millisecond: {"0.77 s", "0.60 s"}, far: {"1.27 s", "1.53 s"}}[c.rtt]
	switch {
	case work == workStart:
		return "30 ms CPU"
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
