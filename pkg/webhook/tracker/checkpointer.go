package tracker

import (
	"context"
	"maps"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/pause"
)

// lastStore is how long the last checkpoint may take to be stored.
const lastStore = 5 * time.Second

// load reads the checkpoint, as often as it takes. The error is that of the
// context.
func (t *Tracker) load(ctx context.Context) error {
	pauses := newPauses()
	for {
		kept, err := t.read(ctx)
		if err == nil {
			t.loaded = kept.checkpoint
			return nil
		}
		t.opts.Log.Error(err, "read the checkpoint")
		if err := pause.For(ctx, pauses.Step()); err != nil {
			return err
		}
	}
}

// keepCheckpoint deals with gaps and stores the checkpoint while it leads, and else reads
// what the leader has stored.
func (t *Tracker) keepCheckpoint(ctx context.Context) {
	var next time.Time // The first is stored as soon as there is all to store: until then, a kill is a gap.
	pauses, compare := newComparisons(), time.Time{}
	for pause.For(ctx, min(t.opts.StoreEvery, time.Second)) == nil {
		if !time.Now().Before(compare) {
			if t.gaps(ctx) == nil {
				pauses = newComparisons()
			} else {
				compare = time.Now().Add(pauses.Step())
			}
		}
		if time.Now().Before(next) || !t.Ready() {
			continue
		}
		next = time.Now().Add(t.opts.StoreEvery)
		if t.leads() {
			t.storeOrSay(ctx)
			continue
		}
		kept, err := t.read(ctx)
		if err != nil {
			t.opts.Log.Error(err, "read the leader's checkpoint")
			continue
		}
		t.mu.Lock()
		t.state.passed(kept.checkpoint)
		t.mu.Unlock()
	}
}

// gaps reports losses to the sink, once everything needed for the comparison is there. An
// error was logged.
func (t *Tracker) gaps(ctx context.Context) error {
	if !t.Ready() {
		return nil
	}
	t.mu.Lock()
	gaps, blind := t.state.lost()
	t.mu.Unlock()
	if len(gaps) == 0 {
		return nil
	}
	var err error
	if blind {
		err = t.opts.Sink.Gap(ctx, t.Live)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.opts.Log.Error(err, "compare what was recorded with what is there")
		t.state.requeue(gaps)
		return err
	}
	t.state.dealt(gaps)
	for _, g := range tell(gaps) {
		t.opts.Log.Info("a time is declared of which not every change is known",
			"resource", g.resource, "from", g.from, "to", g.to, "changes", g.changes, "why", g.why)
	}
	return nil
}

// last stores the checkpoint that the next start begins at.
func (t *Tracker) last(ctx context.Context) {
	if !t.leads() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastStore)
	defer cancel()
	t.storeOrSay(ctx)
}

func (t *Tracker) storeOrSay(ctx context.Context) {
	t.mu.Lock()
	checkpoint, scope, news := t.state.checkpoint(), t.scope(), t.state.undeclared
	t.state.undeclared = Coverage{}
	news.Behind = t.state.backlog(time.Now())
	maps.Copy(checkpoint.Resources, t.loaded.Resources) // including kinds that were not found yet
	t.mu.Unlock()
	if err := t.write(ctx, checkpoint, scope, news); err != nil {
		t.opts.Log.Error(err, "store the checkpoint")
		t.mu.Lock()
		defer t.mu.Unlock()
		t.state.undeclared.Add(news.Gaps...)
	}
}

func (t *Tracker) leads() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state.leading
}
