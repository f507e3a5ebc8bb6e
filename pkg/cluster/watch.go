package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Watch tells of the selected objects as they are, then as they change, until ctx
// is done or an error comes that no waiting cures; it returns that. tell is called
// by one goroutine, one call at a time; the objects belong to it.
//
// It is one list, page by page, then one watch, however many objects there are. A
// watch that ends is taken up where it was, and one that can not be (410 Gone) is
// begun anew: what disappeared meanwhile is told as Gone (edge case 50). Each
// failure is told as Unreadable, once for each time that the server was asked, and
// what cures it as Synced.
//
// Where we may not watch, the list is read again and again; where we may not list
// and Name is set, that one object is. A role that names objects (resourceNames)
// allows to list and watch each of them by Name. Of objects that a selector of
// Labels or Fields no longer matches, Gone is told too.
//
// An error is a *NoKindError where the server does not serve the kind (any more).
func (c *Client) Watch(ctx context.Context, kind object.Kind, sel object.Selection, tell func(object.Change)) error {
	w := &watching{client: c, kind: kind, sel: sel, tell: tell, known: map[types.NamespacedName]sighting{}}
	err := w.run(ctx)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case unserved(statusOf(err)):
		c.kinds.forget(kind.GVK)
		return c.unlisted(ctx, kind.GVK, nil)
	default:
		return err
	}
}

// watching is one call of Watch.
type watching struct {
	client *Client
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

// sighting is an object as it was told.
type sighting struct {
	uid     types.UID
	version string
	round   int
}

// run lists and watches.
func (w *watching) run(ctx context.Context) error {
	pauses := pausesOfWatches()
	for {
		err := w.list(ctx)
		switch {
		case denied(err) && w.sel.Name != "":
			return w.poll(ctx, w.get)
		case err != nil:
			return err
		}
		if !slices.Contains(w.kind.Verbs, "watch") {
			return w.poll(ctx, w.list)
		}
		began := time.Now()
		err = w.follow(ctx)
		switch {
		case denied(err):
			return w.poll(ctx, w.list)
		case !errors.Is(err, errTooOld):
			return err
		case time.Since(began) > quick:
			pauses = pausesOfWatches()
		default: // A server that refuses what it just listed may do so again.
			if err := sleep(ctx, pauses.Step()); err != nil {
				return err
			}
		}
	}
}

// denied tells that this way of asking is not open to us, whatever the object.
func denied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err)
}

// poll reads again and again, the more rarely the longer it takes: it must not
// become what keeps the server busy.
func (w *watching) poll(ctx context.Context, read func(context.Context) error) error {
	const share = 10 // of the time may go into reading
	pauses := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.3, Jitter: 0.1, Steps: 100, Cap: 3 * time.Second}
	for {
		began := time.Now()
		if err := read(ctx); err != nil {
			return err
		}
		if err := sleep(ctx, max(pauses.Step(), share*time.Since(began))); err != nil {
			return err
		}
	}
}

// get reads the one object that is named, where no list of it may be read.
func (w *watching) get(ctx context.Context) error {
	ref := w.ref()
	var live *unstructured.Unstructured
	err := w.do(ctx, func(ctx context.Context) error {
		body, err := read(ctx, w.client.rest.Get().AbsPath(resourcePath(w.kind, ref.Namespace, ref.Name)...))
		if err == nil {
			live, err = decode(body, w.kind, ref)
		}
		return err
	})
	w.round++
	switch {
	case err == nil:
		w.present(live)
	case !apierrors.IsNotFound(err) || unserved(statusOf(err)):
		return err
	}
	w.sweep()
	return nil
}

// do sends a request, and tells at once when it does not come through.
func (w *watching) do(ctx context.Context, send func(context.Context) error) error {
	r := request{
		ref:   w.ref(),
		young: w.client.kinds.isYoung(w.kind.GVK),
		bulk:  true,
	}
	return w.client.do(ctx, r, func(ctx context.Context) error {
		err := send(ctx)
		switch {
		case err == nil:
		case classify(err, r) == lost:
			w.unreadable(causeOf(err))
		case classify(err, r) != final:
			w.unreadable(err)
		}
		return err
	})
}

// collection returns a request for what is selected.
func (w *watching) collection() *rest.Request {
	path := append(groupPath(w.kind.GVK.Group, w.kind.GVK.Version), w.kind.Resource)
	if w.kind.Namespaced && w.sel.Namespace != "" {
		path = resourcePath(w.kind, w.sel.Namespace)
	}
	r := w.client.rest.Get().AbsPath(path...)
	if selector := fieldsOf(w.sel); selector != "" {
		r = r.Param("fieldSelector", selector)
	}
	if strings.TrimSpace(w.sel.Labels) != "" {
		r = r.Param("labelSelector", w.sel.Labels)
	}
	return r
}

// present tells of an object, unless this version of it was told.
func (w *watching) present(u *unstructured.Unstructured) {
	key := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	before, known := w.known[key]
	now := sighting{uid: u.GetUID(), version: u.GetResourceVersion(), round: w.round}
	w.known[key] = now
	switch {
	case !known:
	case before.uid != now.uid:
		w.tell(object.Gone{Object: w.stub(key, before)})
	case before.version == now.version && now.version != "":
		return
	}
	w.tell(object.Present{Object: u})
}

// gone tells that an object is not there any more.
func (w *watching) gone(u *unstructured.Unstructured) {
	key := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	if before, known := w.known[key]; known && before.uid == u.GetUID() {
		delete(w.known, key)
		w.tell(object.Gone{Object: u})
	}
}

// sweep ends a list: what was known and not listed is gone.
func (w *watching) sweep() {
	for key, seen := range w.known {
		if seen.round != w.round {
			delete(w.known, key)
			w.tell(object.Gone{Object: w.stub(key, seen)})
		}
	}
	w.synced()
}

// stub is what is known of an object that is not there any more.
func (w *watching) stub(key types.NamespacedName, seen sighting) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(w.kind.GVK)
	u.SetNamespace(key.Namespace)
	u.SetName(key.Name)
	u.SetUID(seen.uid)
	return u
}

func (w *watching) synced() {
	w.blind = false
	w.tell(object.Synced{})
}

func (w *watching) unreadable(err error) {
	w.blind = true
	w.tell(object.Unreadable{Err: err})
}
