package main

import (
	"context"
	"fmt"
	"time"
)

// row holds the measurements of a work in a setup: one value a round.
type row struct {
	setup, work string
	perSecond   []float64
	p50, p99    []time.Duration
	cpu         []float64 // ms of the API server's CPU time, a write
	calls       float64   // a write
}

// results are all rows, and the faults.
type results struct {
	started  time.Time
	rows     []*row
	handler  time.Duration // p99 of our handler, as it counts itself: an upper bound
	memory   memory
	failures []string
}

func (r *results) row(setup, work string) *row {
	for _, one := range r.rows {
		if one.setup == setup && one.work == work {
			return one
		}
	}
	one := &row{setup: setup, work: work}
	r.rows = append(r.rows, one)
	return one
}

func (r *results) wrong(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// costs measures what a webhook costs. The setups run side by side and take turns,
// so that what else the machine does meets all of them.
func costs(ctx context.Context, o options, r *results) error {
	var labs []*lab
	defer func() {
		for _, l := range labs {
			l.close()
		}
	}()
	for _, setup := range allSetups() {
		l, err := newLab(ctx, setup, o)
		if err != nil {
			return fmt.Errorf("%s: %w", setup, err)
		}
		labs = append(labs, l)
		if setup != setupNone {
			if err := l.awaitConfigured(ctx); err != nil {
				return err
			}
		}
	}
	for _, work := range allWorks() {
		if err := r.measure(ctx, o, labs, work); err != nil {
			return fmt.Errorf("%s: %w", work, err)
		}
	}
	return r.ask(ctx, labs[len(labs)-1])
}

func (r *results) measure(ctx context.Context, o options, labs []*lab, work string) error {
	writers := map[*lab]*writer{}
	before := map[*lab]float64{}
	heard, err := labs[len(labs)-1].heard(ctx)
	if err != nil {
		return err
	}
	for _, l := range labs {
		w := &writer{client: l.client.Resource(deployments()).Namespace("default"), work: work, setup: "w"}
		writers[l] = w
		if err := w.prepare(ctx, o.writers); err != nil {
			return err
		}
		if _, err := w.alone(ctx, 10); err != nil { // connections, caches
			return err
		}
		var err error
		if before[l], _, err = l.calls(ctx); err != nil {
			return err
		}
	}
	for round := range o.rounds {
		for i := range labs {
			l := labs[(i+round)%len(labs)]
			if err := r.round(ctx, o, l, writers[l]); err != nil {
				return err
			}
		}
	}
	for _, l := range labs {
		after, failed, err := l.calls(ctx)
		if err != nil {
			return err
		}
		if failed > 0 {
			r.wrong("%s, %s: %g calls failed", work, l.setup, failed)
		}
		writes := float64(o.rounds * (o.writes + o.writes/o.writers*o.writers))
		row := r.row(l.setup, work)
		row.calls = (after - before[l]) / writes
		switch want := expectedCalls(l.setup, work); {
		case want == 0 && row.calls != 0, want > 0 && row.calls < want:
			r.wrong("%s, %s: %.2f calls a write instead of %g", work, l.setup, row.calls, want)
		}
	}
	return r.heard(ctx, o, labs[len(labs)-1], work, heard)
}

// hearing counts what our webhook has done about takeovers so far.
type hearing struct{ warnings, records float64 }

func (l *lab) heard(ctx context.Context) (h hearing, err error) {
	if h.warnings, err = l.replica.Metric(ctx, "k8sconnect_warnings_total", `about="takeover"`); err != nil {
		return h, err
	}
	h.records, err = l.replica.Metric(ctx, "k8sconnect_records_written_total")
	return h, err
}

// heard checks that each takeover caused a warning, and that uncontested writes are
// recorded nowhere.
func (r *results) heard(ctx context.Context, o options, l *lab, work string, before hearing) error {
	after, err := l.heard(ctx)
	if err != nil {
		return err
	}
	warnings, records := after.warnings-before.warnings, after.records-before.records
	writes := float64(o.rounds * (o.writes + o.writes/o.writers*o.writers))
	switch {
	case work == workTake && warnings < writes:
		r.wrong("%g of %g takeovers were warned of", warnings, writes)
	case work != workTake && (warnings != 0 || records != 0):
		r.wrong("%s: %g warnings and %g records of what was not taken", work, warnings, records)
	}
	return nil
}

// expectedCalls is how many calls of a webhook each write makes.
func expectedCalls(setup, work string) float64 {
	if setup != setupNone && setup != setupFalse && work == workTake {
		return 1
	}
	return 0 // None changes owners, or has a deprecated field.
}

func (r *results) round(ctx context.Context, o options, l *lab, w *writer) error {
	before, err := l.cpu(ctx)
	if err != nil {
		return err
	}
	took, err := w.alone(ctx, o.writes)
	if err != nil {
		return err
	}
	rate, err := w.together(ctx, o.writers, o.writes)
	if err != nil {
		return err
	}
	after, err := l.cpu(ctx)
	if err != nil {
		return err
	}
	one := r.row(l.setup, w.work)
	one.cpu = append(one.cpu, (after-before)*1000/float64(o.writes+o.writes/o.writers*o.writers))
	one.p50 = append(one.p50, took[len(took)/2])
	one.p99 = append(one.p99, took[len(took)*99/100])
	one.perSecond = append(one.perSecond, rate)
	return nil
}
