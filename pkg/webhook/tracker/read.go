package tracker

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/listwatch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	watchFor = 5 * time.Minute
	pageOf   = 500
	// streamSilence is how long a streaming list may pause before it is abandoned.
	streamSilence = 30 * time.Second
)

var errTooOld = errors.New("the resourceVersion to watch from is too old")

var errUndone = errors.New("the server's history ends before this version")

// begin lists the objects, unless a watch can continue. If there is a checkpoint, it lists the
// state at the checkpoint, after which all changes follow. Otherwise it lists the current state.
func (f *follower) begin(ctx context.Context) error {
	f.mu.Lock()
	seen, promised := f.seen.Version, f.promised.Version
	f.mu.Unlock()
	if seen != "" && !f.lost {
		return nil
	}
	select {
	case f.lists <- struct{}{}:
		defer func() { <-f.lists }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if seen == "" && promised != "" && !f.lost {
		resumed, err := f.resume(ctx, promised)
		if err != nil || resumed {
			return err
		}
	}
	f.lost = true
	version, err := f.afresh(ctx)
	if err == nil {
		err = f.retrace(ctx)
	}
	if f.toRetrace = nil; err != nil {
		return err
	}
	var missing map[types.UID]remembered
	f.do(func(s *state) []*pendingChange {
		if f.opts.Deletions != nil {
			missing = f.unlisted()
			s.unseenDeletions(f.watched, version, time.Now())
		}
		s.listed(f.watched, version, time.Now())
		return nil
	})
	f.missing(missing, time.Now())
	f.lost = false
	return nil
}

// resume lists the state at a version. It returns false if the server no longer has that version.
func (f *follower) resume(ctx context.Context, version string) (bool, error) {
	switch undone, err := f.undone(ctx, version); {
	case err != nil:
		return false, err
	case undone:
		f.declareGap("list", version, errUndone)
		f.setRestored()
		return false, nil
	}
	begin := func() { f.do(func(s *state) []*pendingChange { s.resume(f.watched); return nil }) }
	_, err := f.pages(ctx, begin, metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	switch {
	case err == nil:
		f.do(func(s *state) []*pendingChange { s.resumed(f.watched); return nil })
		return true, nil
	case tooOld(err), apierrors.IsBadRequest(err), apierrors.IsInvalid(err):
		f.declareGap("list", version, err)
		return false, nil
	}
	return false, err
}

func (f *follower) declareGap(what, version string, err error) {
	f.opts.Log.Info("history cannot be resumed by a watch; listing instead",
		"resource", f.resource.GroupResource().String(), "at", what, "version", version, "error", err.Error())
}

// afresh lists the current state as a stream (KEP-3157). If the server does not support streaming
// lists, it reads pages instead, so that it never holds all objects.
func (f *follower) afresh(ctx context.Context) (version string, err error) {
	canRetrace, err := f.canRetrace(ctx)
	if err != nil {
		return "", err
	}
	begin := func() {
		if f.toRetrace = nil; canRetrace {
			f.toRetrace = retraced{}
		}
		f.do(func(s *state) []*pendingChange { s.afresh(f.watched, time.Now()); return nil })
	}
	if !f.unstreamed {
		begin()
		version, err = f.stream(ctx)
		if !misunderstood(err) {
			return version, err
		}
		f.unstreamed = true
	}
	version, err = f.pages(ctx, begin, metav1.ListOptions{})
	if misunderstood(err) && f.selector() != "" {
		f.unselected = true
		version, err = f.pages(ctx, begin, metav1.ListOptions{})
	}
	return version, err
}

// pages lists the objects page by page, and returns the list's version. It calls a callback (begin)
// before the first page, and again if the list starts over. The given options (match) select the
// version of the first page.
func (f *follower) pages(ctx context.Context, begin func(), match metav1.ListOptions) (version string, err error) {
	match.FieldSelector = f.selector()
	pages := listwatch.Pages{Size: pageOf, Begin: begin}
	pages.Fetch = func(ctx context.Context, token string, size int) (metav1.ListMeta, error) {
		opts := match
		if token != "" {
			opts = metav1.ListOptions{Continue: token, FieldSelector: match.FieldSelector}
		}
		opts.Limit = int64(size)
		page, err := f.opts.Metadata.Resource(f.resource).List(ctx, opts)
		if err != nil {
			return metav1.ListMeta{}, err
		}
		if err := versioned(page.ResourceVersion); err != nil {
			return metav1.ListMeta{}, err
		}
		for i := range page.Items {
			f.present(&page.Items[i], true)
		}
		return page.ListMeta, nil
	}
	last, err := pages.Read(ctx)
	return last.ResourceVersion, err
}

func (f *follower) stream(ctx context.Context) (version string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	yes, seconds := true, int64(watchFor/time.Second)
	w, err := f.opts.Metadata.Resource(f.resource).Watch(ctx, metav1.ListOptions{
		SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks: true, TimeoutSeconds: &seconds, FieldSelector: f.selector(),
	})
	if err != nil {
		return "", err
	}
	defer w.Stop()
	silence := time.NewTimer(streamSilence)
	defer silence.Stop()
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-silence.C:
			return "", apierrors.NewBadRequest("the streamed list did not end")
		case e, open := <-w.ResultChan():
			if !open {
				return "", apierrors.NewServerTimeout(f.resource.GroupResource(), "list", 0)
			}
			silence.Reset(streamSilence)
			if version, err := f.streamed(e); err != nil || version != "" {
				return version, err
			}
		}
	}
}

// streamed handles an event of a streaming list. It returns the list's version at the end of the
// list, and "" before.
func (f *follower) streamed(e watch.Event) (version string, err error) {
	if e.Type == watch.Error {
		return "", apierrors.FromObject(e.Object)
	}
	o, ok := e.Object.(*metav1.PartialObjectMetadata)
	switch {
	case !ok:
	case e.Type == watch.Bookmark && o.Annotations[metav1.InitialEventsAnnotationKey] == "true":
		return o.ResourceVersion, versioned(o.ResourceVersion)
	case e.Type == watch.Bookmark:
	case e.Type == watch.Deleted:
		delete(f.toRetrace, o.UID)
		f.do(func(*state) []*pendingChange { f.forget(o.UID); return nil })
	default:
		f.present(o, true)
	}
	return "", nil
}

func (f *follower) setRestored() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.restored = true
}

func misunderstood(err error) bool {
	return apierrors.IsBadRequest(err) || apierrors.IsInvalid(err)
}

// undone reports whether the server's history ends before a version that has been seen, because
// etcd was restored from a backup. A watch from that version would wait forever, or follow a
// different history.
func (f *follower) undone(ctx context.Context, seen string) (bool, error) {
	at := time.Now()
	page, err := f.opts.Metadata.Resource(f.resource).List(ctx, metav1.ListOptions{Limit: 1, FieldSelector: f.selector()})
	if err == nil {
		err = versioned(page.ResourceVersion)
	}
	if err != nil {
		return false, err
	}
	f.do(func(s *state) []*pendingChange { s.asked(f.watched, page.ResourceVersion, at); return nil })
	return object.Newer(seen, page.ResourceVersion), nil
}

func tooOld(err error) bool {
	return errors.Is(err, errTooOld) || errors.Is(err, errUndone) || listwatch.TooOld(err)
}
