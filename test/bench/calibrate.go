package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// calibrate finds with how many workers the raw client is fastest at each work.
func (b *bench) calibrate(ctx context.Context, l *lab.Lab, c cell) (map[string]int, error) {
	i := slices.IndexFunc(b.contenders, func(who contender) bool { return who.name == "raw" })
	const usual = 32
	best := map[string]int{}
	for _, work := range allWorks() {
		switch known := b.workers[fmt.Sprint(c.kind, c.rtt, work)]; {
		case c.count == small:
			best[work] = 1
		case c.count >= large && known > 0: // it takes long, and is the same
			best[work] = known
		default:
			best[work] = usual
		}
	}
	if c.set { // It is the same work, with a label.
		for work, like := range map[string]string{workSet: workCreate, workSetAgain: workAgain, workPrune: workCreate} {
			if known := b.workers[fmt.Sprint(c.kind, c.rtt, like)]; known > 0 {
				best[work] = known
			}
		}
		return best, nil
	}
	if i < 0 || l == nil || b.options.short || c.count == small || c.count >= large {
		return best, nil
	}
	const most, hopeless = 64, 1.15
	seconds := map[string]float64{}
	for workers := most; workers >= 1; workers /= 2 {
		took, err := b.attempt(ctx, l, c, b.contenders[i], workers)
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
	best[workDelete] = best[workCreate]
	if c.count == 1000 {
		for work, workers := range best {
			b.workers[fmt.Sprint(c.kind, c.rtt, work)] = workers
		}
	}
	return best, nil
}

// attempt measures the raw client with that many workers.
func (b *bench) attempt(ctx context.Context, l *lab.Lab, c cell, raw contender, workers int) (took map[string]float64, err error) {
	p, err := l.NewPlot(ctx, c.sample, raw.name)
	if err != nil {
		return nil, err
	}
	defer func() { err = cleared(ctx, p, err) }()
	l.Network(c.rtt)
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
