package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// A call of a program is bounded; kubectl's longest takes five minutes.
const (
	callTimeout = 10 * time.Minute
	callLargest = time.Hour // for the largest sample
)

// kubectlPasses bounds how often kubectl is called for one set.
const kubectlPasses = 4

// bench carries out a plan.
type bench struct {
	dir        string // folder of the samples' files
	options    options
	contenders []contender
	workers    map[string]int // best of 1,000 objects, by kind, round-trip time and work
	references references
	results    *results
	progress   io.Writer
}

func newBench(dir string, o options, results *results, progress io.Writer) *bench {
	return &bench{
		dir: dir, options: o, results: results, progress: progress,
		contenders: contenders(o),
		workers:    map[string]int{}, references: references{},
	}
}

// run measures everything. An error means that it could not continue; what is wrong with
// a tool's outcome is among the results.
func (b *bench) run(ctx context.Context, cells []cell) error {
	var ours, controlled, crowded, real []cell
	for _, c := range cells {
		switch {
		case c.crowd > 0:
			crowded = append(crowded, c)
		case c.sample.Foreign, c.sample.Defines:
			real = append(real, c)
		case c.controllers:
			controlled = append(controlled, c)
		default:
			ours = append(ours, c)
		}
	}
	for _, together := range [][]cell{ours, controlled, crowded} {
		if len(together) == 0 {
			continue
		}
		if err := b.inOneLab(ctx, together); err != nil {
			return err
		}
	}
	for _, c := range real {
		if err := b.cell(ctx, nil, c); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) inOneLab(ctx context.Context, cells []cell) error {
	who := b.contenders
	if cells[0].crowd > 0 {
		who = slices.DeleteFunc(slices.Clone(who), func(c contender) bool { return c.name != "k8sconnect" })
	}
	l, err := b.open(ctx, cells[0].controllers, cells[0].crowd, who...)
	if err != nil {
		return err
	}
	defer l.Close()
	for _, c := range cells {
		if err := b.cell(ctx, l, c); err != nil {
			return err
		}
	}
	return nil
}

// open starts a lab in which some contenders are at home, with that many more kinds than
// the server has by itself.
func (b *bench) open(ctx context.Context, controllers bool, crowd int, who ...contender) (*lab.Lab, error) {
	l, err := lab.New(ctx, controllers)
	if err != nil {
		return nil, err
	}
	if err := fill(ctx, l, crowd); err != nil {
		l.Close()
		return nil, err
	}
	for _, c := range who {
		if err := b.warm(ctx, l, c); err != nil {
			l.Close()
			return nil, err
		}
	}
	return l, nil
}

// warm lets a contender do everything once, unmeasured, so that its caches, the
// API server's and the operating system's are as in daily use.
func (b *bench) warm(ctx context.Context, l *lab.Lab, who contender) error {
	warmed := lab.GeneratedKinds()
	if l.Controllers {
		warmed = warmed[:1] // They write what is in a Deployment.
	}
	for _, kind := range warmed {
		s, err := lab.Generated(b.dir, kind, 3)
		if err != nil {
			return err
		}
		p, err := l.NewPlot(ctx, s, who.name)
		if err != nil {
			return err
		}
		for _, work := range allWorks() {
			if !does(who.tools[0], work) || work == workReady || work == workStuck || work == workStalled || work == workNamespace && !l.Controllers {
				continue
			}
			if l.Controllers && slices.Contains(setWorks(), work) {
				continue // The namespace is gone.
			}
			if work == workWait && l.Controllers {
				continue // They put a ConfigMap of their own there, which is not like ours.
			}
			if _, err := b.perform(ctx, who, p, who.tools[0], work, 1); b.wrong(err, "warm-up", who.tools[0]) != nil {
				return err
			}
		}
	}
	return nil
}

// cell measures all contenders on one sample at one round-trip time, in turn,
// several times. Without a lab, each round gets one of its own: real sets define
// kinds, and those do not go away without a trace.
func (b *bench) cell(ctx context.Context, l *lab.Lab, c cell) error {
	workers, err := b.calibrate(ctx, l, c)
	if b.wrong(err, c.String(), "raw") != nil {
		return err
	}
	spent := map[string]float64{}
	for repetition := range c.repetitions {
		for _, who := range b.contenders {
			if c.alone && who.name != "k8sconnect" {
				continue
			}
			if repetition > 0 && spent[who.name] > b.options.budget.Seconds() {
				continue // its rows say how often it was measured
			}
			if who.name == "kubectl" && time.Since(b.results.Started) > b.options.patience {
				b.results.note("kubectl on %s at %s: the run had taken %s already", c.sample.Title, c.rtt, b.options.patience)
				continue
			}
			took, err := b.round(ctx, l, c, who, workers)
			if b.wrong(err, c.String(), who.name) != nil {
				return err
			}
			spent[who.name] += took
		}
	}
	return nil
}

// wrong notes a wrong outcome and returns every other error.
func (b *bench) wrong(err error, where, who string) error {
	var outcome *lab.OutcomeError
	if !errors.As(err, &outcome) {
		return err
	}
	fmt.Fprintf(b.progress, "WRONG  %s, %s: %v\n", who, where, outcome)
	b.results.Failures = append(b.results.Failures, fmt.Sprintf("%s, %s: %v", who, where, outcome))
	return nil
}

// round lets a contender do the cell's works on a fresh plot, and returns how
// many seconds it took.
func (b *bench) round(ctx context.Context, l *lab.Lab, c cell, who contender, workers map[string]int) (took float64, err error) {
	works := b.works(c, who)
	if len(works) == 0 {
		return 0, nil
	}
	if l == nil {
		if l, err = b.open(ctx, c.controllers, 0, who); err != nil {
			return 0, err
		}
		defer l.Close()
	}
	p, err := l.NewPlot(ctx, c.sample, who.name)
	if err != nil {
		return 0, err
	}
	defer func() { err = cleared(ctx, p, err) }()
	for _, work := range allWorks() {
		wanted := slices.Contains(works, work)
		if !wanted && (work != workCreate || c.set) {
			continue
		}
		for _, tool := range who.tools {
			if !does(tool, work) {
				continue
			}
			l.Network(0)
			if wanted {
				l.Network(c.rtt)
			}
			m, err := b.perform(ctx, who, p, tool, work, workers[work])
			if err != nil {
				return took, fmt.Errorf("%s: %w", work, err)
			}
			took += m.Seconds
			if wanted {
				b.results.add(c, work, tool, workers[work], m)
				fmt.Fprintf(b.progress, "%8.2f s  %-10s %-7s %s\n", m.Seconds, tool, work, c)
			}
		}
	}
	return took, nil
}

// cleared clears a plot after a work that ended with err. Without that, the run cannot
// continue.
func cleared(ctx context.Context, p *lab.Plot, err error) error {
	if clearErr := p.Clear(ctx); clearErr != nil {
		return clearErr
	}
	return err
}

// works are those of the cell that a contender does.
func (b *bench) works(c cell, who contender) []string {
	return slices.DeleteFunc(slices.Clone(c.works), func(work string) bool {
		if !slices.ContainsFunc(who.tools, func(tool string) bool { return does(tool, work) }) {
			return true
		}
		if b.options.all {
			return false
		}
		why := leftOut(c, who.name, work)
		if why != "" {
			b.results.note("%s, %s on %s at %s: %s", who.name, work, c.sample.Title, c.rtt, why)
		}
		return why != ""
	})
}

// perform makes a tool do one work, and checks the result.
func (b *bench) perform(ctx context.Context, who contender, p *lab.Plot, tool, work string, workers int) (lab.Measured, error) {
	if work == workStuck {
		if err := p.BecomeStuck(ctx); err != nil {
			return lab.Measured{}, err
		}
	}
	if work == workStalled {
		if err := becomeStalled(ctx, p); err != nil {
			return lab.Measured{}, err
		}
	}
	before, err := p.Versions(ctx)
	if err != nil {
		return lab.Measured{}, err
	}
	if work == workChange {
		p.Version++
	}
	argv, err := who.argv(p, tool, work, workers)
	if err != nil {
		return lab.Measured{}, err
	}
	become := func(context.Context) (time.Time, error) { return time.Time{}, nil }
	if work == workReady {
		become = p.BecomeReady(ctx)
	}
	m, err := b.call(ctx, p, who, argv)
	if last, becomeErr := become(ctx); becomeErr != nil {
		return lab.Measured{}, becomeErr
	} else if !last.IsZero() {
		m.Seconds = m.Ended.Sub(last).Seconds()
	}
	if tool == toolKubectl && work == workCreate {
		// It may need several, until definitions and their objects are in.
		for pass := 1; err == nil && m.Exit != 0 && p.Sample.Foreign && pass < kubectlPasses; pass++ {
			var more lab.Measured
			more, err = b.call(ctx, p, who, argv)
			m.Add(more)
		}
	}
	if err != nil {
		return lab.Measured{}, err
	}
	// kubectl deletes definitions and then does not find their objects: whether all are
	// gone is what counts.
	if m.Exit != exitOf(work) && (tool != toolKubectl || work != workDelete || !p.Sample.Foreign) {
		return m, &lab.OutcomeError{What: fmt.Sprintf("exit status %d:\n%s", m.Exit, lab.Tail(p.Lab.Log()))}
	}
	if work == workStalled {
		if m.Seconds, err = firstCause(p); err == nil {
			err = tooMany(m.Requests, p.Sample.Stalled)
		}
		if err != nil {
			return m, err
		}
	}
	if work == workCreate {
		if err := p.Settle(ctx); err != nil {
			return m, err
		}
	}
	return m, b.check(ctx, p, tool, work, before)
}

// check checks the result of a work: what it wrote, and whether that is right. Objects
// that were not written are as before.
func (b *bench) check(ctx context.Context, p *lab.Plot, tool, work string, before lab.Versions) error {
	after, err := p.Versions(ctx)
	if err != nil {
		return err
	}
	if tool == toolHelm && work == workDelete {
		maps.DeleteFunc(after, func(n lab.Name, _ string) bool { return n.Kind == lab.DefinitionGroupKind }) // It never deletes them.
	}
	if err := checkWritten(p, work, before, after); err != nil {
		return &lab.OutcomeError{What: err.Error()}
	}
	if work == workStuck {
		return p.Explained()
	}
	if work != workCreate && work != workChange && work != workSet {
		return nil
	}
	live, err := p.Look(ctx)
	if err != nil {
		return err
	}
	if err := b.references.content(p, live); err != nil {
		return &lab.OutcomeError{What: err.Error()}
	}
	return nil
}

// exitOf is the exit status of a tool that did a work right.
func exitOf(work string) int {
	if work == workStuck || work == workStalled {
		return 1 // Something is.
	}
	return 0
}

func (b *bench) call(ctx context.Context, p *lab.Plot, who contender, argv []string) (lab.Measured, error) {
	most := callTimeout
	if p.Sample.Title == growthTitle(largest) {
		most = callLargest
	}
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("%s took more than %s", who.name, most))
	defer cancel()
	return p.Lab.Measure(ctx, who.name, argv)
}
