package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// bench carries out a plan.
type bench struct {
	dir        string // the folder of the samples' files
	tools      []tool
	shared     *lab // where generated objects are applied
	references references
	results    *results
	progress   io.Writer
}

// run measures everything. It returns an error only if it could not continue; wrong outcomes are
// among the results.
func (b *bench) run(ctx context.Context, cells []cell) error {
	defer func() { b.shared.close() }()
	for _, c := range cells {
		if err := b.cell(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// cell measures all tools on one sample at one round-trip time, in turn, several times. A slow tool
// gets fewer runs; its rows show how many.
func (b *bench) cell(ctx context.Context, c cell) error {
	const budget = 30.0
	spent := map[string]float64{}
	for range c.n {
		for _, t := range b.tools {
			if spent[t.name] > budget {
				continue
			}
			took, err := b.round(ctx, c, t)
			if b.wrong(err, t, c.String()) != nil {
				return err
			}
			spent[t.name] += took
		}
	}
	return nil
}

// wrong records a wrong outcome, and returns every other error.
func (b *bench) wrong(err error, t tool, where string) error {
	if !errors.Is(err, errWrong) {
		return err
	}
	text := fmt.Sprintf("%s, %s, %v", t.name, where, err)
	fmt.Fprintln(b.progress, "WRONG ", text)
	b.results.failures = append(b.results.failures, text)
	return nil
}

// lab returns the lab for a cell. Real sets define kinds, which leave traces when they are deleted,
// so each round on them has its own lab.
func (b *bench) lab(ctx context.Context, c cell, t tool) (l *lab, err error) {
	if c.sample.foreign() {
		return b.open(ctx, c.controllers, t)
	}
	if b.shared == nil {
		b.shared, err = b.open(ctx, false, b.tools...)
	}
	return b.shared, err
}

// open starts a lab. Each tool first does everything once, unmeasured, so that all caches are warm,
// as in daily use.
func (b *bench) open(ctx context.Context, controllers bool, tools ...tool) (*lab, error) {
	l, err := newLab(ctx, controllers)
	if err != nil {
		return nil, err
	}
	for _, t := range tools {
		for _, kind := range generatedKinds() {
			if controllers && kind != "ConfigMap" {
				continue // They change Deployments.
			}
			if err := b.warm(ctx, l, t, kind); b.wrong(err, t, "warm-up") != nil {
				l.close()
				return nil, err
			}
		}
	}
	return l, nil
}

func (b *bench) warm(ctx context.Context, l *lab, t tool, kind string) error {
	s, err := generated(b.dir, kind, 3)
	if err != nil {
		return err
	}
	p, err := l.newPlot(ctx, s, t.name)
	if err != nil {
		return err
	}
	for _, work := range t.works {
		if work == workWait && l.controllers {
			continue // They create a ConfigMap, which does not meet the condition.
		}
		if _, err := b.perform(ctx, t, p, work); err != nil {
			return fmt.Errorf("%s: %w", work, err)
		}
	}
	return p.clear(ctx)
}

// round runs one tool's works on a fresh plot, and returns the seconds that it took.
func (b *bench) round(ctx context.Context, c cell, t tool) (took float64, err error) {
	works := slices.DeleteFunc(slices.Clone(c.works), func(work string) bool { return !slices.Contains(t.works, work) })
	if t.name == toolKubectl && c.leftOut() {
		b.results.note("kubectl on %s at %s", c.sample.title, c.rtt)
		works = nil
	}
	if len(works) == 0 {
		return 0, nil
	}
	l, err := b.lab(ctx, c, t)
	if err != nil {
		return 0, err
	}
	if c.sample.foreign() {
		defer l.close()
	}
	p, err := l.newPlot(ctx, c.sample, t.name)
	if err != nil {
		return 0, err
	}
	defer func() { // The bench cannot continue without that.
		if clearErr := p.clear(ctx); clearErr != nil {
			err = clearErr
		}
	}()
	first := workCreate
	if c.asSet {
		first = workSet
	}
	for _, work := range allWorks() {
		wanted := slices.Contains(works, work)
		if !wanted && work != first {
			continue
		}
		l.proxy.SetRTT(0)
		if wanted {
			l.proxy.SetRTT(c.rtt)
		}
		m, err := b.perform(ctx, t, p, work)
		if err != nil {
			return took, fmt.Errorf("%s: %w", work, err)
		}
		took += m.Seconds
		if wanted {
			b.results.add(c, work, t.name, m)
			fmt.Fprintf(b.progress, "%8.2f s  %-10s %-7s %s\n", m.Seconds, t.name, work, c)
		}
	}
	return took, nil
}

// isConfirmed reports whether a work makes the changes of a plan.
func isConfirmed(work string) bool { return work == workConfirm || work == workOutright }

// review prepares a confirmed work, unmeasured: it changes the objects, and writes the plan that
// changes them back.
func (b *bench) review(ctx context.Context, t tool, p *plot, work string) error {
	p.now = p.sample.changed
	if work == workOutright {
		p.now = p.sample.rewritten
	}
	change, err := t.argv(p, workAgain)
	if err != nil {
		return err
	}
	p.now = p.sample.whole
	diff, err := t.argv(p, workDiff)
	if err != nil {
		return err
	}
	plan := append([]string{"sh", "-c", `file=$1; shift; "$@" -o json > "$file" || [ $? -eq 1 ]`, "sh", p.reviewed()}, diff...)
	for _, argv := range [][]string{change, plan} {
		if m, err := p.lab.measure(ctx, t.name, argv); err != nil {
			return err
		} else if m.Exit != 0 {
			return fmt.Errorf("%w: preparation: exit status %d:\n%s", errWrong, m.Exit, tail(p.lab.log()))
		}
	}
	return nil
}

// perform runs one work with a tool, and checks the outcome.
func (b *bench) perform(ctx context.Context, t tool, p *plot, work string) (measured, error) {
	if isConfirmed(work) {
		if err := b.review(ctx, t, p, work); err != nil {
			return measured{}, err
		}
	}
	before, err := p.read(ctx)
	if err != nil {
		return measured{}, err
	}
	switch work {
	case workChange:
		p.now = p.sample.changed
	case workRewrite:
		p.now = p.sample.rewritten
	case workSet:
		p.now = p.sample.whole
	case workPrune:
		p.now = p.sample.fewer
	}
	argv, err := t.argv(p, work)
	if err != nil {
		return measured{}, err
	}
	// kubectl's longest call takes five minutes.
	limit := 10*time.Minute + time.Duration(len(p.sample.objects))*20*time.Millisecond
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s took more than %s", t.name, limit))
	defer cancel()
	m, err := p.lab.measure(ctx, t.name, argv)
	// kubectl needs several calls: objects fail until their definitions are served.
	for pass := 1; err == nil && m.Exit != 0 && pass < 4 && t.name == toolKubectl && work == workCreate && p.sample.foreign(); pass++ {
		var more measured
		more, err = p.lab.measure(ctx, t.name, argv)
		m.Seconds, m.CPUSeconds, m.PeakBytes, m.Exit = m.Seconds+more.Seconds, m.CPUSeconds+more.CPUSeconds, max(m.PeakBytes, more.PeakBytes), more.Exit
		m.requests, m.sent, m.received = m.requests+more.requests, m.sent+more.sent, m.received+more.received
	}
	if err != nil {
		return m, err
	}
	// kubectl deletes definitions and then fails to find their objects. Only the outcome counts:
	// all have to be gone.
	if m.Exit != 0 && (t.name != toolKubectl || work != workDelete || !p.sample.foreign()) {
		return m, fmt.Errorf("%w: exit status %d:\n%s", errWrong, m.Exit, tail(p.lab.log()))
	}
	if work == workCreate {
		if err := p.settle(ctx); err != nil {
			return m, err
		}
	}
	return m, b.check(ctx, t, p, work, before)
}
