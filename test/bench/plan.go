package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// cell is measured side by side: a sample at a round-trip time.
type cell struct {
	sample      lab.Sample
	kind        string // kind of a generated sample
	count       int    // number of its objects
	rtt         time.Duration
	works       []string
	repetitions int
	// controllers: the controllers do a part of the work.
	controllers bool
	// crowd is how many kinds the server serves besides its own.
	crowd int
	// alone: the plugin is compared with itself.
	alone bool
	// set: they are created as a set, and not before.
	set bool
}

func (c cell) String() string { return fmt.Sprintf("%s, %s", c.sample.Title, c.rtt) }

func allWorks() []string {
	return []string{workCreate, workAgain, workChange, workDryRun, workDiff, workWait, workReady, workDelete, workNamespace, workStuck, workStalled, workCrowd, workSet, workSetAgain, workPrune}
}

const (
	small = 1     // object: here it is the start of a program that counts
	large = 10000 // objects: here it is memory that counts
	// largest is where its growth ends.
	largest = 100_000
	// becoming is how many Deployments become ready while they are waited for.
	becoming = 200
)

// worksOn returns the works that make sense on a sample of that many objects.
func worksOn(count int) []string {
	switch count {
	case small:
		return []string{workCreate, workAgain, workChange, workDryRun, workDiff, workWait, workDelete}
	case large, largest:
		return []string{workCreate, workAgain, workWait}
	case becoming:
		return []string{workReady}
	default:
		return []string{workCreate, workAgain, workChange, workDiff, workWait, workDelete}
	}
}

// plan returns the cells that the options ask for, those that matter most first.
func plan(dir string, o options, note func(format string, args ...any)) ([]cell, error) {
	var cells []cell
	add := func(each cell) {
		for _, rtt := range o.rtts {
			c := each
			c.rtt = rtt
			if c.count >= large && c.rtt > 0 {
				continue // the network costs no memory
			}
			c.repetitions = o.repetitions
			if c.sample.Foreign {
				c.repetitions = o.setRepetitions
			}
			works := worksOn(c.count)
			if o.growth {
				works = growthWorks()
			}
			c.works = slices.DeleteFunc(works, func(work string) bool {
				return !slices.Contains(o.works, work) || work == workChange && c.sample.Changed == 0 ||
					work == workDelete && c.sample.Foreign || work == workWait && c.sample.Condition == ""
			})
			if len(c.works) > 0 {
				cells = append(cells, c)
			}
			if c.sample.Foreign && slices.Contains(o.works, workDelete) {
				// Without controllers, a namespace never goes; with them, nothing stays
				// as it was applied.
				deleted := c
				deleted.controllers, deleted.works = true, []string{workDelete}
				cells = append(cells, deleted)
			}
			if as := c; c.kind == "ConfigMap" && c.count > small {
				as.set, as.works = true, slices.DeleteFunc(setWorks(), func(work string) bool { return !slices.Contains(o.works, work) })
				if len(as.works) > 0 {
					as.works = setWorks() // Each needs those before it.
					cells = append(cells, as)
				}
			}
			if c.kind == "ConfigMap" && c.count > small && c.count < large && slices.Contains(o.works, workNamespace) {
				deleted := c
				deleted.controllers, deleted.works = true, []string{workNamespace}
				cells = append(cells, deleted)
			}
		}
	}
	for _, count := range o.counts {
		for _, kind := range o.kinds {
			s, err := lab.Generated(dir, kind, count)
			if err != nil {
				return nil, err
			}
			add(cell{sample: s, kind: kind, count: count})
		}
	}
	if len(o.counts) > 0 && slices.Contains(o.kinds, "Deployment") && slices.Contains(o.works, workReady) {
		s, err := lab.Generated(dir, "Deployment", becoming)
		if err != nil {
			return nil, err
		}
		add(cell{sample: s, kind: "Deployment", count: becoming})
	}
	if o.survey {
		stuck, err := stuckCells(dir, o)
		if err != nil {
			return nil, err
		}
		cells = append(cells, stuck...)
	}
	if o.stalled {
		stalled, err := stalledCells(dir, o)
		if err != nil {
			return nil, err
		}
		cells = append(cells, stalled...)
	}
	if o.crowded {
		crowded, err := crowdCells(dir, o)
		if err != nil {
			return nil, err
		}
		cells = append(cells, crowded...)
	}
	samples, err := realSamples(dir, o.sets, note)
	for _, s := range samples {
		add(cell{sample: s})
	}
	return cells, err
}

// stuckCells measure how long it takes to say what holds objects that do not go.
func stuckCells(dir string, o options) ([]cell, error) {
	kinds, each := lab.StuckKinds, lab.StuckEach
	if o.short {
		kinds, each = lab.StuckKindsShort, lab.StuckEachShort
	}
	s, err := lab.StuckSample(dir, kinds, each)
	var cells []cell
	for _, rtt := range o.rtts {
		cells = append(cells, cell{sample: s, count: s.Held, rtt: rtt, works: []string{workStuck}, repetitions: o.repetitions})
	}
	return cells, err
}

// realSamples returns the sets of the corpus; without a corpus, it says so and returns a
// sample of our own.
func realSamples(dir string, names []string, note func(format string, args ...any)) ([]lab.Sample, error) {
	if len(names) == 0 {
		return nil, nil
	}
	root, err := lab.Corpus()
	if err != nil {
		note("%v; a sample of our own stands in", err)
		s, err := lab.Shop(dir)
		return []lab.Sample{s}, err
	}
	var samples []lab.Sample
	for _, name := range names {
		s, err := lab.FromCorpus(root, name)
		if err != nil {
			return nil, err
		}
		samples = append(samples, s)
	}
	return samples, nil
}

// leftOut says why a contender does not do a work of a cell, if so: kubectl does some
// things one object after the other, which takes minutes and shows nothing new.
func leftOut(c cell, contender, work string) string {
	const long, far = 1000, 100 * time.Millisecond
	switch {
	case contender != "kubectl" || c.count < long:
		return ""
	case c.count >= large:
		return "not measured at this size"
	case c.rtt >= far && work == workChange:
		return "takes it as long as applying again with nothing changed"
	case c.rtt >= far && work == workWait:
		return "takes it twice as long as with less round-trip time"
	case work == workDelete && c.rtt > 0 && c.rtt < far:
		return "is between what it takes without and with more round-trip time"
	case work == workDelete && c.kind != "ConfigMap":
		return "takes it as long as for ConfigMaps"
	case c.rtt >= far && work != workAgain && c.kind != "ConfigMap":
		return "takes it as long as for ConfigMaps"
	default:
		return ""
	}
}
