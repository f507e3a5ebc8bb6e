package observe

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/pause"
)

// Watcher is what is needed of a cluster.
type Watcher interface {
	// Watch tells of the selected objects as they are, then as they change, until
	// ctx is done or an error comes that no waiting cures. That the server does not serve
	// the kind (any more) is an error for which meta.IsNoMatchError is true.
	Watch(ctx context.Context, kind object.Kind, sel object.Selection, tell func(object.Change)) error
}

// View is what is looked at. One call of Follow or Look is made at a time, and the fields
// change between two calls only.
type View struct {
	Server Watcher
	Kind   object.Kind
	// Selection says which objects are seen, and of Names, where they are.
	Selection object.Selection
	// Names are those of the objects that are meant; nil for all that is selected.
	Names []string
	// Patience is how long nothing but errors may come. 0 leaves patience to Server:
	// whatever ends its watch ends the view.
	Patience time.Duration

	mu    sync.Mutex      // guards what follows
	named map[string]bool // Names; nil for all
	known map[types.NamespacedName]sighting
	// watches counts the watches; listed: the first list of this one is told.
	watches int
	listed  bool
	blind   blindness
}

// sighting is when an object was last seen, and which.
type sighting struct {
	uid   types.UID
	watch int
}

// Follow tells of the objects, until ctx is done or nothing more is to be seen; it
// returns why. tell is called once at a time. Objects that were not asked for may be
// told of too, since one watch is for all of a namespace.
//
// A view with Patience is given up with a *[BlindError], and a kind that is not served
// is looked for twice: a server that is just starting may not know it yet.
func (v *View) Follow(ctx context.Context, tell func(object.Change)) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	defer v.endBlindness()
	pauses := wait.Backoff{Duration: time.Second, Factor: 1.5, Jitter: 0.2, Steps: 100, Cap: 10 * time.Second}
	missing := false
	for {
		err := v.watch(ctx, giveUp, tell)
		unserved := meta.IsNoMatchError(err)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case v.Patience == 0, !mayPass(err), missing && unserved:
			return err
		case !unserved:
			v.receive(object.Unreadable{Err: err}, giveUp, tell)
		}
		missing = unserved
		if err := pause.For(ctx, pauses.Step()); err != nil {
			return context.Cause(ctx)
		}
	}
}

// mayPass reports whether it makes sense to watch again.
func mayPass(err error) bool {
	return !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) && !apierrors.IsMethodNotSupported(err) &&
		!apierrors.IsBadRequest(err) && !apierrors.IsNotFound(err)
}

// Look tells what is there, and returns nil once that is told.
func (v *View) Look(ctx context.Context, tell func(object.Change)) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	all := false
	err := v.watch(ctx, end, func(c object.Change) {
		tell(c)
		if _, all = c.(object.Synced); all {
			end(nil)
		}
	})
	switch {
	case all:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// watch begins a watch, and returns how it ended.
func (v *View) watch(ctx context.Context, giveUp context.CancelCauseFunc, tell func(object.Change)) error {
	v.begin()
	return v.Server.Watch(ctx, v.Kind, v.selection(), func(change object.Change) {
		if ctx.Err() == nil { // What fails because we stop is no failure.
			v.receive(change, giveUp, tell)
		}
	})
}

func (v *View) begin() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.watches++
	v.listed = false
	if v.known != nil {
		return
	}
	v.known = map[types.NamespacedName]sighting{}
	if v.Names != nil {
		v.named = map[string]bool{}
	}
	for _, name := range v.Names {
		v.named[name] = true
	}
}

// selection is what to watch, as narrow as it can be said.
func (v *View) selection() object.Selection {
	s := v.Selection
	if !v.Kind.Namespaced {
		s.Namespace = ""
	}
	if len(v.Names) == 1 {
		s.Name = v.Names[0]
	}
	return s
}

// Ref is what an error of the view is about.
func (v *View) Ref() object.Ref {
	s := v.selection()
	return object.Ref{GVK: v.Kind.GVK, Namespace: s.Namespace, Name: s.Name}
}

// Split returns a view of each object, where err says that they may not be listed: who
// may not list a namespace may still be allowed to look at these (edge case 50). It
// returns nil where that does not help.
func (v *View) Split(err error) []*View {
	if !apierrors.IsForbidden(err) || len(v.Names) < 2 {
		return nil
	}
	views := make([]*View, len(v.Names))
	for i, name := range v.Names {
		views[i] = &View{Server: v.Server, Kind: v.Kind, Selection: v.Selection, Names: []string{name}, Patience: v.Patience}
	}
	return views
}
