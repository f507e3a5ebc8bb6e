package tracker

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

const (
	// refusedLong is the pause from which a refusal counts as lasting.
	refusedLong = 8 * time.Second
	// steady is how long a watch has to last to prove that watching works.
	steady = 5 * time.Second
)

// run lists and watches until the context ends.
func (f *follower) run(ctx context.Context) {
	pauses, away, refusals := newPauses(), newAbsences(), newRefusals()
	for ctx.Err() == nil {
		permitted := f.permissions.wait()
		err := f.pass(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			f.listedOnce()
		}
		if f.worked { // A list that takes long and fails is tried more and more seldom.
			pauses, away, refusals, f.worked = newPauses(), newAbsences(), newRefusals(), false
		}
		var in time.Duration
		switch {
		case err == nil, errors.Is(err, errTooOld):
			in = pauses.Step()
		case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err), apierrors.IsNotFound(err):
			in = refusals.Step()
			f.refuse(err, in > refusedLong)
			if sleepUnless(ctx, in, permitted) {
				refusals = newRefusals()
			}
			continue
		default:
			// While the server is unreachable, the pauses grow. Asking costs nothing, and says
			// nothing about the list.
			if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
				in = away.Step()
			} else {
				in = pauses.Step()
			}
			f.opts.Log.Info("watch ended", "resource", f.resource.String(), "error", err.Error())
		}
		if retry.For(ctx, in) != nil {
			return
		}
	}
}

// pass resumes the history, or lists, and then watches until the watch ends.
func (f *follower) pass(ctx context.Context) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	f.listedOnce()
	f.setRefused(false)
	f.noted = false
	began := time.Now()
	err := f.watch(ctx)
	f.worked = time.Since(began) > steady
	if tooOld(err) {
		f.lose("watch", f.position().Version, err)
		f.lost = true
		return errTooOld
	}
	return err
}

// watch follows the changes after the version that was seen.
func (f *follower) watch(ctx context.Context) error {
	from := f.position().Version
	switch undone, err := f.undone(ctx, from); {
	case err != nil:
		return err
	case undone:
		return errUndone
	}
	seconds := int64(watchFor / time.Second)
	w, err := f.opts.Metadata.Resource(f.resource).Watch(ctx, metav1.ListOptions{
		ResourceVersion: from, AllowWatchBookmarks: true, TimeoutSeconds: &seconds, FieldSelector: f.selector(),
	})
	if err != nil {
		return err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if err := f.event(e); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) event(e watch.Event) error {
	if e.Type == watch.Error {
		return apierrors.FromObject(e.Object)
	}
	o, ok := e.Object.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil
	}
	if err := versioned(o.ResourceVersion); err != nil {
		return err
	}
	now := time.Now()
	switch e.Type {
	case watch.Bookmark:
		f.do(func(s *state) []*pendingChange { s.bookmark(f.watched, o.ResourceVersion, now); return nil })
		return nil
	case watch.Deleted:
		f.do(func(s *state) []*pendingChange { s.gone(f.watched, o.UID, o.ResourceVersion, now); return nil })
	default:
		f.present(o, false)
	}
	f.kindsMayChange()
	f.permissionsMayChange(o)
	return nil
}
