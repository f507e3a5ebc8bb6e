package tracker

import (
	"context"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

const (
	lastStore = 5 * time.Second
	// noteEvery is the interval at which notes are written. If the process is killed, the users
	// that it has seen since the last write are lost.
	noteEvery = 500 * time.Millisecond
	// storeRate bounds the bytes of notes written per second, so that many changes do not cause
	// many writes.
	storeRate = 200 << 10
)

// load reads the stored state, retrying until the context ends.
func (t *Tracker) load(ctx context.Context) error {
	pauses := newPauses()
	for {
		kept, err := t.read(ctx)
		if err == nil {
			t.loaded = kept.checkpoint
			t.recall(kept)
			return nil
		}
		t.opts.Log.Error(err, "read the checkpoint")
		if err := retry.For(ctx, pauses.Step()); err != nil {
			return err
		}
	}
}

func (t *Tracker) recall(k kept) {
	for _, o := range [][]unrecorded{k.seen, k.noted} {
		t.do(func(s *state) []*pendingChange { return s.withOccurrences(o, time.Now()) })
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if k.unread != (Span{}) || k.checkpoint.Compare {
		t.state.gaps = append(t.state.gaps, &pendingChange{gap: &gap{Span: k.unread, blind: true, why: unreadableNotes}})
	}
}

// keepCheckpoint stores the checkpoint while this replica leads. Otherwise it reads the leader's
// checkpoint, and notes the users that only this replica knows.
func (t *Tracker) keepCheckpoint(ctx context.Context) {
	var next, notes time.Time // zero: store at once, because a kill before the first checkpoint causes a gap
	for retry.For(ctx, min(t.opts.StoreEvery, noteEvery/2)) == nil {
		now := time.Now()
		if !t.Ready() || now.Before(next) && (now.Before(notes) || !t.dirty()) {
			continue
		}
		size := t.storeOrLog(ctx)
		next = now.Add(t.opts.StoreEvery)
		notes = now.Add(noteEvery + time.Duration(size)*time.Second/storeRate)
	}
}

func (t *Tracker) compare(ctx context.Context) {
	pauses := newComparisons()
	for in := time.Second; retry.For(ctx, in) == nil; {
		if in = time.Second; t.gaps(ctx) == nil {
			pauses = newComparisons()
		} else {
			in = pauses.Step()
		}
	}
}

// gaps handles gaps once all kinds have been listed. It logs the error that it returns.
func (t *Tracker) gaps(ctx context.Context) error {
	if !t.Ready() {
		return nil
	}
	t.mu.Lock()
	gaps, blind := t.state.openGaps()
	t.mu.Unlock()
	if len(gaps) == 0 {
		return nil
	}
	if blind {
		if err := t.opts.Sink.Gap(ctx, t.liveIn(gaps)); err != nil {
			t.opts.Log.Error(err, "cannot compare the records with the live owners")
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.dealt(gaps)
	for _, g := range summarize(gaps) {
		t.opts.Log.Info("declared a gap in the history",
			"resource", g.resource, "from", g.from, "to", g.to, "changes", g.changes, "why", g.why)
	}
	return nil
}

// liveIn returns Live, limited to the objects of the gaps. The records of other objects are complete,
// or will be: a comparison would record a change that is about to be recorded once more.
func (t *Tracker) liveIn(gaps []*pendingChange) func(types.UID) (ownership.Owners, string, bool) {
	missed, kinds := map[types.UID]bool{}, map[*watched]bool{}
	for _, m := range gaps {
		switch {
		case !m.gap.blind:
		case m.watched == nil:
			return t.Live
		case m.gap.missed == nil:
			kinds[m.watched] = true
		default:
			maps.Copy(missed, m.gap.missed)
		}
	}
	return func(uid types.UID) (owners ownership.Owners, version string, ok bool) {
		concerned := missed[uid]
		t.mu.Lock()
		for w := range kinds {
			_, found := w.objects[uid]
			concerned = concerned || found
		}
		t.mu.Unlock()
		if !concerned {
			return owners, "", false
		}
		return t.Live(uid)
	}
}

func (t *Tracker) dirty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state.dirty || t.asked && !t.state.leading
}

// storeOrLog stores the leader's checkpoint or another replica's notes, and returns the size of the
// stored notes. After a conflict with another replica, it tries again.
func (t *Tracker) storeOrLog(ctx context.Context) (size int) {
	var err error
	for range 3 {
		if size, err = t.store(ctx); !apierrors.IsConflict(err) {
			break
		}
	}
	if err != nil {
		t.opts.Log.Error(err, "store the checkpoint")
	}
	return size
}

func (t *Tracker) store(ctx context.Context) (size int, err error) {
	k, err := t.read(ctx)
	if err != nil {
		return 0, err
	}
	t.mu.Lock()
	leading, asked := t.state.leading, t.asked
	t.mu.Unlock()
	switch {
	case leading:
		t.recall(kept{noted: k.noted})
	case asked:
		// From now on, this replica records and notes whatever the former leader noted.
		t.recall(kept{seen: k.seen, noted: k.noted, unread: k.unread, checkpoint: Checkpoint{Compare: k.checkpoint.Compare}})
		t.mu.Lock()
		t.state.passed(k.checkpoint)
		t.state.lead(true, time.Now())
		t.mu.Unlock()
	default:
		return t.noteUsers(ctx, k)
	}
	t.mu.Lock()
	scope := t.scope()
	t.mu.Unlock()
	for most := maxNotes; ; most /= 2 {
		t.mu.Lock()
		out := t.state.store(most, time.Now())
		maps.Copy(out.checkpoint.Resources, t.loaded.Resources) // including kinds that have not been found yet
		t.mu.Unlock()
		seen, err := encodeSeen(out.seen)
		if err == nil && len(seen) > maxSeen && most > 0 {
			t.redeclare(out)
			continue
		}
		if err == nil {
			err = t.write(ctx, k, out, seen, scope)
		}
		if err != nil {
			t.redeclare(out)
		}
		return len(seen), err
	}
}

func (t *Tracker) redeclare(out stored) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.undeclared.Add(out.news.Gaps...)
}

// noteUsers stores the users that only this replica knows, for the leader to read.
func (t *Tracker) noteUsers(ctx context.Context, k kept) (size int, err error) {
	t.mu.Lock()
	t.state.passed(k.checkpoint)
	news := t.state.unnoted()
	t.mu.Unlock()
	if k.configMap == nil || len(k.configMap.BinaryData[t.noteKey()]) == 0 {
		t.noted = nil // The leader has merged the notes.
	}
	if t.unreported = append(t.unreported, news...); len(t.unreported) == 0 {
		return 0, nil
	}
	all := slices.Concat(t.noted, t.unreported)
	all = all[max(0, len(all)-maxReported/100):] // A note takes about a hundred bytes. The oldest notes are dropped, and their users may be lost.
	content, err := encodeSeen(all)
	if err == nil {
		err = t.writeReported(ctx, k, content)
	}
	if err == nil {
		t.noted, t.unreported = all, nil
	}
	return len(content), err
}
