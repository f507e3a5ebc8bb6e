// Package listwatch reads lists and watches the changes after them. [Pages] is the only way to read
// a list, for the client and for the webhook's tracker: whatever a server does, a list costs a
// handful of requests. [Source.Watch] follows changes.
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

// Source is a server whose objects are listed and watched.
type Source struct {
	REST *rest.RESTClient
	Send *transport.Sender
	// NewlyServed: see [transport.Request].
	NewlyServed func(schema.GroupVersionKind) bool
	// OnPolling is called if objects are polled because we lack the right to verb; it may be nil.
	OnPolling func(kind object.Kind, sel object.Selection, verb string)
}

// Watch reports the selected objects as they are, then as they change, until ctx is done or an
// error occurs that waiting does not cure, which it returns. tell is called from one goroutine, one
// call at a time; it may keep the objects.
//
// It takes one list, page by page, then one watch, however many objects there are. A watch that
// ends is resumed; if that is impossible (410 Gone), the list is read again, and what has
// disappeared is reported as Gone (edge case 50). Each failure is reported as Unreadable, once for
// each request, and the recovery as Synced.
//
// Without the right to watch, the list is polled; without the right to list, and with Name set,
// that one object is. A role that names objects (resourceNames) allows listing and watching each of
// them by Name. Objects that the Labels or Fields no longer match are reported as Gone too.
//
// If [transport.Unserved] is true for the error, the server does not, or no longer, serve the kind.
func (s *Source) Watch(ctx context.Context, kind object.Kind, sel object.Selection, tell func(object.Change)) error {
	w := &watching{source: s, kind: kind, sel: sel, tell: tell, known: map[types.NamespacedName]sighting{}}
	err := w.run(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// watching is one call of Watch.
type watching struct {
	source *Source
	kind   object.Kind
	sel    object.Selection
	tell   func(object.Change)

	// known is what was reported, without the objects.
	known map[types.NamespacedName]sighting
	// round counts the lists.
	round int
	// version is where to continue.
	version string
	// blind: the last report was Unreadable.
	blind bool
	// changes: only metadata is watched, for [Source.Follow]; else nil.
	changes *Changes
}

// run lists and watches.
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
		default: // A server that refuses what it just listed may do so again.
			if err := retry.For(ctx, pauses.Step()); err != nil {
				return err
			}
		}
	}
}

// list reads everything selected, page by page, and reports what is new, changed or gone. It asks
// for the newest state, never for one from the server's cache: an older version of an object may
// have been ready. A page that breaks off is read again, without reporting its objects twice.
func (w *watching) list(ctx context.Context) error {
	l := &List{
		Kind: w.kind, Size: UsualPage, Build: w.collection, Do: w.do,
		Begin: func() { w.round++ },
		Item: func(text []byte) error {
			u, err := transport.Item(text, w.kind, w.namespace())
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

// namespace returns the namespace of the selection; empty for all.
func (w *watching) namespace() string {
	if !w.kind.Namespaced {
		return ""
	}
	return w.sel.Namespace
}

// ref is the Ref for requests about the selection.
func (w *watching) ref() object.Ref {
	return object.Ref{GVK: w.kind.GVK, Namespace: w.sel.Namespace, Name: w.sel.Name}
}

// poll reads again and again, at longer intervals the longer a read takes, so that it does not
// overload the server. lacks is the verb that we may not use; empty if that is not the reason. It
// is reported once a single read was not enough.
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

// get reads the named object, if it may not be listed.
func (w *watching) get(ctx context.Context) error {
	ref := w.ref()
	var live *unstructured.Unstructured
	err := w.do(ctx, func(ctx context.Context) error {
		body, err := transport.Read(ctx, w.source.REST.Get().AbsPath(transport.ResourcePath(w.kind, ref.Namespace, ref.Name)...))
		if err == nil {
			live, err = transport.Object(body, w.kind, ref)
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

// do sends a request and reports at once if it fails.
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

// collection returns a request for the selected objects.
func (w *watching) collection() *rest.Request {
	r := Collection(w.source.REST, w.kind, w.sel)
	if w.changes != nil {
		r.SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
	}
	return r
}

// sighting is an object as it was last reported.
type sighting struct {
	uid     types.UID
	version string
	round   int
}

// present reports an object, unless this version of it was reported already.
func (w *watching) present(u *unstructured.Unstructured) {
	key := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	before, known := w.known[key]
	now := sighting{uid: u.GetUID(), version: u.GetResourceVersion(), round: w.round}
	w.known[key] = now
	switch {
	case !known:
	case before.uid != now.uid:
		w.tell(object.Gone{Object: object.Stub(w.kind, key, before.uid)})
	case before.version == now.version && now.version != "":
		return
	}
	w.tell(object.Present{Object: u})
}

func (w *watching) gone(u *unstructured.Unstructured) {
	key := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	if before, known := w.known[key]; known && before.uid == u.GetUID() {
		delete(w.known, key)
		w.tell(object.Gone{Object: u})
	}
}

// sweep ends a list: known objects that were not listed are gone.
func (w *watching) sweep() {
	for key, seen := range w.known {
		if seen.round != w.round {
			delete(w.known, key)
			w.tell(object.Gone{Object: object.Stub(w.kind, key, seen.uid)})
		}
	}
	w.synced()
}

func (w *watching) synced() {
	w.blind = false
	w.tell(object.Synced{})
}

func (w *watching) unreadable(err error) {
	w.blind = true
	w.tell(object.Unreadable{Err: err})
}
