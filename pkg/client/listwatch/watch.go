// Package listwatch reads lists and watches for changes, and never writes. Start with
// [Source.Watch], or with [Pages] to read a list.
package listwatch

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// Source lists and watches the objects of a server.
type Source struct {
	REST        *rest.RESTClient
	Send        *transport.Sender
	NewlyServed func(schema.GroupVersionKind) bool
	// OnPolling is called if objects are polled because we have no permission for verb. It may be
	// nil.
	OnPolling func(kind object.Kind, sel object.Selection, verb string)
}

// Watch reports the selected objects, and then their changes, until ctx is done, or until an error
// occurs that retrying cannot fix. It returns that error. It calls tell from one goroutine. tell
// may keep the objects.
//
// Watch uses one list and one watch, however many objects there are. It resumes a watch that ends.
// If that is impossible (410 Gone), it reads the list again and reports missing objects as Gone
// (edge case 50). Each failed request is reported as Unreadable, and the recovery as Synced.
//
// If we have no permission to watch, Watch polls the list. If we have no permission to list, it
// polls the object that Name selects. A role with resourceNames allows listing and watching each of
// its objects by Name. Objects that Labels or Fields no longer match are reported as Gone.
//
// [transport.Unserved] is true for the error if the server does not serve the kind, or has stopped
// serving it.
func (s *Source) Watch(ctx context.Context, kind object.Kind, sel object.Selection, report func(object.Change)) error {
	w := &watching{source: s, kind: kind, sel: sel, report: report, known: map[types.NamespacedName]sighting{}}
	err := w.run(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

type watching struct {
	source *Source
	kind   object.Kind
	sel    object.Selection
	report func(object.Change)

	known   map[types.NamespacedName]sighting
	round   int
	version string
	blind   bool
	changes *Changes
}

func (w *watching) run(ctx context.Context) error {
	pauses := pausesOfWatches()
	for {
		err := w.list(ctx)
		switch {
		case transport.Denied(err) && w.sel.Name != "":
			return w.poll(ctx, w.get, "list")
		case err != nil:
			return err
		}
		if !slices.Contains(w.kind.Verbs, "watch") {
			return w.poll(ctx, w.list, "")
		}
		began := time.Now()
		err = w.follow(ctx)
		switch {
		case transport.Denied(err):
			return w.poll(ctx, w.list, "watch")
		case !errors.Is(err, errTooOld):
			return err
		case time.Since(began) > quick:
			pauses = pausesOfWatches()
		default: // The server may refuse this version again.
			if err := retry.For(ctx, pauses.Step()); err != nil {
				return err
			}
		}
	}
}

// list reports the objects that are new, changed or gone. It requests the newest state, because the
// server's cache may still contain an older version of an object that was ready. It reports no
// object twice if a page is read again.
func (w *watching) list(ctx context.Context) error {
	l := &List{
		Kind: w.kind, Size: UsualPage, Build: w.collection, Do: w.do,
		Begin: func() { w.round++ },
		Item: func(text []byte) error {
			u, err := transport.Item(text, w.kind)
			if err == nil {
				w.present(u)
			}
			return err
		},
	}
	page, err := l.Read(ctx)
	if err != nil {
		return err
	}
	w.version = page.ResourceVersion
	w.sweep()
	return nil
}

func (w *watching) ref() object.Ref {
	return object.Ref{GVK: w.kind.GVK, Namespace: w.sel.Namespace, Name: w.sel.Name}
}

// poll calls read until read fails or ctx is done. It pauses longer after a slower read, to spare
// the server. lacks is the verb for which we have no permission, or "". poll reports this verb only
// if one read is not enough.
func (w *watching) poll(ctx context.Context, read func(context.Context) error, lacks string) error {
	const share = 10 // at most a tenth of the time
	pauses := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.3, Jitter: 0.1, Steps: 100, Cap: 3 * time.Second}
	for {
		began := time.Now()
		if err := read(ctx); err != nil {
			return err
		}
		if err := retry.For(ctx, max(pauses.Step(), share*time.Since(began))); err != nil {
			return err
		}
		if lacks != "" && w.source.OnPolling != nil {
			w.source.OnPolling(w.kind, w.sel, lacks)
			lacks = ""
		}
	}
}

func (w *watching) get(ctx context.Context) error {
	ref := w.ref()
	var live *unstructured.Unstructured
	err := w.do(ctx, func(ctx context.Context) error {
		body, err := transport.Read(ctx, w.source.REST.Get().AbsPath(transport.ResourcePath(w.kind, ref.Namespace, ref.Name)...))
		if err == nil {
			live, err = transport.Object(body, w.kind)
		}
		return err
	})
	w.round++
	switch {
	case err == nil:
		w.present(live)
	case !apierrors.IsNotFound(err) || transport.Unserved(err):
		return err
	}
	w.sweep()
	return nil
}

func (w *watching) do(ctx context.Context, send func(context.Context) error) error {
	r := transport.Request{Ref: w.ref(), NewlyServed: w.source.NewlyServed(w.kind.GVK), Bulk: true}
	return w.source.Send.Do(ctx, r, func(ctx context.Context) error {
		err := send(ctx)
		switch {
		case err == nil:
		case transport.Classify(err, r) == transport.Lost:
			w.unreadable(transport.CauseOf(err))
		case transport.Classify(err, r) != transport.Final:
			w.unreadable(err)
		}
		return err
	})
}

func (w *watching) collection() *rest.Request {
	r := Collection(w.source.REST, w.kind, w.sel)
	if w.changes != nil {
		r.SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
	}
	return r
}

type sighting struct {
	uid     types.UID
	version string
	round   int
}

func (w *watching) present(u *unstructured.Unstructured) {
	key := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	before, known := w.known[key]
	now := sighting{uid: u.GetUID(), version: u.GetResourceVersion(), round: w.round}
	w.known[key] = now
	switch {
	case !known:
	case before.uid != now.uid:
		w.report(object.Gone{Object: object.Stub(w.kind, key, before.uid)})
	case before.version == now.version && now.version != "":
		return
	}
	w.report(object.Present{Object: u})
}

func (w *watching) deleted(u *unstructured.Unstructured) {
	key := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	if before, known := w.known[key]; known && before.uid == u.GetUID() {
		delete(w.known, key)
		w.report(object.Gone{Object: u})
	}
}

func (w *watching) sweep() {
	for key, seen := range w.known {
		if seen.round != w.round {
			delete(w.known, key)
			w.report(object.Gone{Object: object.Stub(w.kind, key, seen.uid)})
		}
	}
	w.synced()
}

func (w *watching) synced() {
	w.blind = false
	w.report(object.Synced{})
}

func (w *watching) unreadable(err error) {
	w.blind = true
	w.report(object.Unreadable{Err: err})
}
