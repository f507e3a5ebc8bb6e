// Package watchset watches objects of one kind, named or selected, through one watch. Start with
// [View.Follow]: once it says Synced, each name was reported as present or gone, and consecutive
// watches look like one. It keeps no object and prints nothing.
package watchset

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Watcher is the part of the API client that a View needs.
type Watcher interface {
	// Watch reports the selected objects as they are, then as they change, until ctx is done or an
	// error occurs that waiting does not cure. If the server does not (or no longer) serve the
	// kind, meta.IsNoMatchError is true for the error.
	Watch(ctx context.Context, kind object.Kind, sel object.Selection, tell func(object.Change)) error
}

// View is a set of objects to watch. One call of Follow or List is made at a time, and the fields
// change only between calls.
type View struct {
	Server Watcher
	// First is used instead of Server until the first list has come, and its error then ends the
	// view: a server that never answered gets no patience. Nil uses Server from the beginning.
	First Watcher
	Kind  object.Kind
	// Selection selects the objects; with Names, only their namespace.
	Selection object.Selection
	// Names are the names of the objects; nil for all selected ones.
	Names []string
	// Patience is how long reads may fail. 0 leaves patience to Server: whatever ends its watch
	// ends the view. First has its own patience.
	Patience time.Duration
	// Search is how long reads may fail before the first list, if that is less than Patience. 0
	// leaves it to First, or is Patience if there is none.
	Search time.Duration

	mu    sync.Mutex      // guards what follows
	named map[string]bool // Names; nil for all
	known map[types.NamespacedName]sighting
	// watches counts the watches; listed: the first list of this one has come; seen: one has come.
	watches      int
	listed, seen bool
	blind        blindness
}

// sighting is when an object was last seen, with its UID.
type sighting struct {
	uid   types.UID
	watch int
}

// begin begins a watch.
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

// selection returns the narrowest selection to watch.
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

// Tolerates returns how long reads may fail now; 0 leaves that to the watcher. A callback that
// learns of a failure calls it, while the view is locked.
func (v *View) Tolerates() time.Duration {
	switch {
	case v.seen:
		return v.Patience
	case v.Search > 0:
		return min(v.Search, v.Patience)
	case v.First != nil:
		return 0
	}
	return v.Patience
}

// Ref is the Ref for errors of the view.
func (v *View) Ref() object.Ref {
	s := v.selection()
	return object.Ref{GVK: v.Kind.GVK, Namespace: s.Namespace, Name: s.Name}
}

// Split returns a view of each object if err says that they may not be listed: a user who may not
// list a namespace may still be allowed to watch these (edge case 50). It returns nil if that does
// not help.
func (v *View) Split(err error) []*View {
	if !apierrors.IsForbidden(err) || len(v.Names) < 2 {
		return nil
	}
	views := make([]*View, len(v.Names))
	for i, name := range v.Names {
		views[i] = &View{Server: v.Server, First: v.First, Kind: v.Kind, Selection: v.Selection, Names: []string{name}, Patience: v.Patience, Search: v.Search}
	}
	return views
}

// receive records a change, and passes it on.
func (v *View) receive(change object.Change, giveUp context.CancelCauseFunc, tell func(object.Change)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch c := change.(type) {
	case object.Present:
		v.blind.end()
		if v.named == nil || v.named[c.Object.GetName()] {
			v.known[keyOf(c.Object)] = sighting{c.Object.GetUID(), v.watches}
		}
	case object.Gone:
		v.blind.end()
		delete(v.known, keyOf(c.Object))
	case object.Synced:
		v.blind.end()
		if !v.listed { // Later, the watch names what is gone.
			v.listed, v.seen = true, true
			v.tellMissing(tell)
		}
	case object.Unreadable:
		v.blind.add(c.Err, v.Tolerates(), &v.mu, giveUp)
	}
	tell(change)
}

func keyOf(u *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
}

// tellMissing reports as gone what the first list of a watch lacks: objects that an earlier watch
// knew, and names that none has seen.
func (v *View) tellMissing(tell func(object.Change)) {
	missing := map[types.NamespacedName]types.UID{}
	namespace := v.selection().Namespace
	for name := range v.named {
		missing[types.NamespacedName{Namespace: namespace, Name: name}] = ""
	}
	for key, seen := range v.known {
		if seen.watch == v.watches {
			delete(missing, key)
		} else {
			missing[key] = seen.uid
		}
	}
	for key, uid := range missing {
		delete(v.known, key)
		tell(object.Gone{Object: object.Stub(v.Kind, key, uid)})
	}
}
