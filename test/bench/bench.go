package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// callTimeout bounds one call of a program; kubectl's longest takes four minutes.
const callTimeout = 10 * time.Minute

// kubectlPasses bounds how often kubectl is called for one set.
const kubectlPasses = 4

// bench carries out a plan.
type bench struct {
	lab        *lab
	options    options
	contenders []contender
	homes      map[string]string // warm, by contender
	kubeconfig map[string]string // by contender
	workers    map[string]int    // best of 1,000 objects, by kind, round-trip time and work
	references references
	results    *results
	progress   io.Writer
}

func newBench(l *lab, o options, results *results, progress io.Writer) (*bench, error) {
	b := &bench{
		lab: l, options: o, progress: progress,
		homes: map[string]string{}, kubeconfig: map[string]string{}, workers: map[string]int{},
		references: references{}, results: results,
	}
	for _, c := range l.contenders(o.plugin) {
		if !slices.Contains(o.tools, c.name) {
			continue
		}
		b.contenders = append(b.contenders, c)
		var err error
		if b.kubeconfig[c.name], err = l.kubeconfig(c.name); err != nil {
			return nil, err
		}
		b.homes[c.name] = filepath.Join(l.dir, "warm-"+c.name)
		if err := os.Mkdir(b.homes[c.name], 0o755); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// run measures everything. An error means that it could not go on; what is
// wrong with a tool's outcome is among the results.
func (b *bench) run(ctx context.Context, cells []cell) error {
	for _, c := range b.contenders {
		if err := b.warm(ctx, c); err != nil {
			return err
		}
	}
	for _, c := range cells {
		if err := b.cell(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// warm lets a contender do everything once, unmeasured, so that its caches, the
// API server's and the operating system's are as in daily use.
func (b *bench) warm(ctx context.Context, who contender) error {
	for _, kind := range generatedKinds() {
		s, err := generated(b.lab.dir, kind, 3)
		if err != nil {
			return err
		}
		p, err := b.lab.newPlot(ctx, s, who.name, b.homes[who.name])
		if err != nil {
			return err
		}
		p.home = b.homes[who.name]
		for _, work := range allWorks() {
			if _, err := b.perform(ctx, who, p, who.tools[0], work, 1); b.wrong(err, "warm-up", who.tools[0]) != nil {
				return err
			}
		}
	}
	return nil
}

// cell measures all contenders on one sample at one round-trip time, in turn,
// several times.
func (b *bench) cell(ctx context.Context, c cell) error {
	workers, err := b.calibrate(ctx, c)
	if b.wrong(err, c.String(), "raw") != nil {
		return err
	}
	spent := map[string]float64{}
	for repetition := range c.repetitions {
		for _, who := range b.contenders {
			if repetition > 0 && spent[who.name] > b.options.budget.Seconds() {
				continue // its rows say how often it was measured
			}
			if who.name == "kubectl" && time.Since(b.results.Started) > b.options.patience {
				b.results.note("kubectl on %s at %s: left out, the run had taken %s already", c.sample.title, c.rtt, b.options.patience)
				continue
			}
			took, err := b.round(ctx, c, who, workers)
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
	var outcome *outcomeError
	if !errors.As(err, &outcome) {
		return err
	}
	fmt.Fprintf(b.progress, "WRONG  %s, %s: %v\n", who, where, outcome)
	b.results.Failures = append(b.results.Failures, fmt.Sprintf("%s, %s: %v", who, where, outcome))
	return nil
}

// round lets a contender do the cell's works on a fresh plot, and returns how
// many seconds it took.
func (b *bench) round(ctx context.Context, c cell, who contender, workers map[string]int) (took float64, err error) {
	works := b.works(c, who)
	if len(works) == 0 {
		return 0, nil
	}
	p, err := b.lab.newPlot(ctx, c.sample, who.name, b.homes[who.name])
	if err != nil {
		return 0, err
	}
	defer func() { err = cleared(ctx, p, err) }()
	for _, work := range allWorks() {
		wanted := slices.Contains(works, work)
		if !wanted && work != workCreate {
			continue
		}
		for _, tool := range who.tools {
			if !does(tool, work) {
				continue
			}
			b.lab.network(0)
			if wanted {
				b.lab.network(c.rtt)
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

// cleared clears a plot after a work that ended with err. Without that, nothing
// can go on.
func cleared(ctx context.Context, p *plot, err error) error {
	if clearErr := p.clear(ctx); clearErr != nil {
		return fmt.Errorf("clear up: %w", clearErr)
	}
	return err
}

// works are those of the cell that a contender does.
func (b *bench) works(c cell, who contender) []string {
	return slices.DeleteFunc(slices.Clone(c.works), func(work string) bool {
		why := leftOut(c, who.name, work)
		if why != "" {
			b.results.note("%s, %s on %s at %s: %s", who.name, work, c.sample.title, c.rtt, why)
		}
		return why != ""
	})
}

// outcomeError says that what a tool did is not right.
type outcomeError struct{ what string }

func (e *outcomeError) Error() string { return e.what }

// perform lets a tool do one work, and checks what it did.
func (b *bench) perform(ctx context.Context, who contender, p *plot, tool, work string, workers int) (measured, error) {
	before, err := p.versions(ctx)
	if err != nil {
		return measured{}, err
	}
	if work == workChange {
		p.version++
	}
	argv, err := who.argv(p, tool, work, workers)
	if err != nil {
		return measured{}, err
	}
	env := environment(p.home, b.kubeconfig[who.name])
	m, err := b.call(ctx, who, env, argv)
	if tool == toolKubectl && work == workCreate {
		// It may need several, until definitions and their objects are in.
		for pass := 1; err == nil && m.Exit != 0 && p.sample.foreign && pass < kubectlPasses; pass++ {
			var more measured
			more, err = b.call(ctx, who, env, argv)
			m.add(more)
		}
	}
	if err != nil {
		return measured{}, err
	}
	if m.Exit != 0 {
		return m, &outcomeError{fmt.Sprintf("exit status %d:\n%s", m.Exit, tail(b.lab.log()))}
	}
	if work == workCreate {
		if err := p.settle(ctx); err != nil {
			return m, err
		}
	}
	return m, b.check(ctx, p, work, before)
}

// check checks what a work has done: what it wrote, and whether that is right.
// What was not written is as it was.
func (b *bench) check(ctx context.Context, p *plot, work string, before versions) error {
	after, err := p.versions(ctx)
	if err != nil {
		return err
	}
	if err := p.written(work, before, after); err != nil {
		return &outcomeError{err.Error()}
	}
	if work != workCreate && work != workChange {
		return nil
	}
	live, err := p.look(ctx)
	if err != nil {
		return err
	}
	if err := b.references.content(p, live); err != nil {
		return &outcomeError{err.Error()}
	}
	return nil
}

func (b *bench) call(ctx context.Context, who contender, env, argv []string) (measured, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("%s took more than %s", argv[0], callTimeout))
	defer cancel()
	return b.lab.measure(ctx, who.name, env, argv...)
}

// calibrate finds with how many workers the raw client is fastest at each work.
func (b *bench) calibrate(ctx context.Context, c cell) (map[string]int, error) {
	i := slices.IndexFunc(b.contenders, func(who contender) bool { return who.name == "raw" })
	best := map[string]int{}
	for _, work := range allWorks() {
		best[work] = 1
	}
	switch {
	case i < 0 || c.count == small:
		return best, nil
	case b.options.short:
		for _, work := range allWorks() {
			best[work] = 32
		}
		return best, nil
	case c.count > 1000: // it takes long, and is the same
		for _, work := range allWorks() {
			best[work] = max(16, b.workers[fmt.Sprint(c.kind, c.rtt, work)])
		}
		return best, nil
	}
	const most, hopeless = 64, 1.15
	seconds := map[string]float64{}
	for workers := most; workers >= 1; workers /= 2 {
		took, err := b.attempt(ctx, c, b.contenders[i], workers)
		if err != nil {
			return best, err
		}
		hope := false
		for work, s := range took {
			if seconds[work] == 0 || s < seconds[work] {
				seconds[work], best[work] = s, workers
			}
			hope = hope || s < hopeless*seconds[work]
		}
		if !hope {
			break
		}
	}
	best[workChange] = best[workAgain]
	best[workDryRun] = best[workDiff]
	if c.count == 1000 {
		for work, workers := range best {
			b.workers[fmt.Sprint(c.kind, c.rtt, work)] = workers
		}
	}
	return best, nil
}

// attempt measures the raw client with so many workers.
func (b *bench) attempt(ctx context.Context, c cell, raw contender, workers int) (took map[string]float64, err error) {
	p, err := b.lab.newPlot(ctx, c.sample, raw.name, b.homes[raw.name])
	if err != nil {
		return nil, err
	}
	defer func() { err = cleared(ctx, p, err) }()
	b.lab.network(c.rtt)
	took = map[string]float64{}
	for _, work := range []string{workCreate, workAgain, workDiff} {
		if work != workCreate && !slices.Contains(c.works, work) {
			continue
		}
		m, err := b.perform(ctx, raw, p, toolPatch, work, workers)
		if err != nil {
			return nil, fmt.Errorf("%s, %d workers: %w", work, workers, err)
		}
		took[work] = m.Seconds
	}
	return took, nil
}
