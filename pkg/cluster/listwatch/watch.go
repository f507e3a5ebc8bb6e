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

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/answer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/request"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/pause"
)

// Source is a server whose objects are listed and watched.
type Source struct {
	REST *rest.RESTClient
	Send *request.Sender
	// NewlyServed: see [request.Request].
	NewlyServed func(schema.GroupVersionKind) bool
	// OnPolling hears that objects are read again and again, because we may not do what
	// verb says, and nothing else can be done; nil if nobody does.
	OnPolling func(kind object.Kind, sel object.Selection, verb string)
}

// Watch tells of the selected objects as they are, then as they change, until ctx
// is done or an error comes that no waiting cures; it returns that. tell is called
// by one goroutine, one call at a time; the objects belong to it.
//
// It is one list, page by page, then one watch, however many objects there are. A
// watch that ends is taken up where it was, and one that cannot be (410 Gone) is
// begun anew: what disappeared meanwhile is told as Gone (edge case 50). Each
// failure is told as Unreadable, once for each time that the server was asked, and
// what cures it as Synced.
//
// Where we may not watch, the list is read again and again; where we may not list
// and Name is set, that one object is. A role that names objects (resourceNames)
// allows to list and watch each of them by Name. Of objects that a selector of
// Labels or Fields no longer matches, Gone is told too.
//
// An error for which [request.Unserved] is true says that the server does not serve the
// kind (any more).
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

	// known is what was told, without the objects.
	known map[types.NamespacedName]sighting
	// round counts the lists.
	round int
	// version is where to go on from.
	version string
	// blind: Unreadable was told, and nothing since.
	blind bool
}

// run lists and watches.
func (w *watching) run(ctx context.Context) error {
	pauses := pausesOfWatches()
	for {
		err := w.list(ctx)
		switch {
		case request.Denied(err) && w.sel.Name != "":
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
		case request.Denied(err):
			return w.poll(ctx, w.list, "watch")
		case !errors.Is(err, errTooOld):
			return err
		case time.Since(began) > quick:
			pauses = pausesOfWatches()
		default: // A server that refuses what it just listed may do so again.
			if err := pause.For(ctx, pauses.Step()); err != nil {
				return err
			}
		}
	}
}

// list reads everything selected, page by page, and tells of what is new, what
// changed and what is gone. It asks for the newest state, never for one that a
// cache of the server's may have kept: an older version of an object may be one
// that was ready. A page that breaks off is read again; what was told of it already
// is not told again.
func (w *watching) list(ctx context.Context) error {
	l := &List{
		Kind: w.kind, Size: UsualPage, Build: w.collection, Do: w.do,
		Begin: func() { w.round++ },
		Item: func(text []byte) error {
			u, err := answer.Item(text, w.kind, w.namespace())
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

// namespace is where everything is that is selected; empty for anywhere.
func (w *watching) namespace() string {
	if !w.kind.Namespaced {
		return ""
	}
	return w.sel.Namespace
}

// ref is what a request for the selected objects is about.
func (w *watching) ref() object.Ref {
	return object.Ref{GVK: w.kind.GVK, Namespace: w.sel.Namespace, Name: w.sel.Name}
}

// poll reads again and again, the more rarely the longer it takes: it must not
// become what keeps the server busy. lacks is what we may not do; empty where that is not
// why. It is told once it is seen that reading once was not enough.
func (w *watching) poll(ctx context.Context, read func(context.Context) error, lacks string) error {
	const share = 10 // of the time may go into reading
	pauses := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.3, Jitter: 0.1, Steps: 100, Cap: 3 * time.Second}
	for {
		began := time.Now()
		if err := read(ctx); err != nil {
			return err
		}
		if err := pause.For(ctx, max(pauses.Step(), share*time.Since(began))); err != nil {
			return err
		}
		if lacks != "" && w.source.OnPolling != nil {
			w.source.OnPolling(w.kind, w.sel, lacks)
			lacks = ""
		}
	}
}

// get reads the one object that is named, where no list of it may be read.
func (w *watching) get(ctx context.Context) error {
	ref := w.ref()
	var live *unstructured.Unstructured
	err := w.do(ctx, func(ctx context.Context) error {
		body, err := request.Read(ctx, w.source.REST.Get().AbsPath(request.ResourcePath(w.kind, ref.Namespace, ref.Name)...))
		if err == nil {
			live, err = answer.Object(body, w.kind, ref)
		}
		return err
	})
	w.round++
	switch {
	case err == nil:
		w.present(live)
	case !apierrors.IsNotFound(err) || request.Unserved(err):
		return err
	}
	w.sweep()
	return nil
}

// do sends a request, and tells at once when it does not come through.
func (w *watching) do(ctx context.Context, send func(context.Context) error) error {
	r := request.Request{Ref: w.ref(), NewlyServed: w.source.NewlyServed(w.kind.GVK), Bulk: true}
	return w.source.Send.Do(ctx, r, func(ctx context.Context) error {
		err := send(ctx)
		switch {
		case err == nil:
		case request.Classify(err, r) == request.Lost:
			w.unreadable(request.CauseOf(err))
		case request.Classify(err, r) != request.Final:
			w.unreadable(err)
		}
		return err
	})
}

// collection returns a request for what is selected.
func (w *watching) collection() *rest.Request { return Collection(w.source.REST, w.kind, w.sel) }
