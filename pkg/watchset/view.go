// Package watchset sees objects of one kind, named or selected, through one watch. Start with
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
	// First is asked instead of Server until the first list has come, and its error then
	// ends the view: a server that never answered gets no patience. Nil asks Server from
	// the beginning.
	First Watcher
	Kind  object.Kind
	// Selection says which objects are seen, and of Names, where they are.
	Selection object.Selection
	// Names are those of the objects that are meant; nil for all that is selected.
	Names []string
	// Patience is how long nothing but errors may come. 0 leaves patience to Server:
	// whatever ends its watch ends the view. First has a patience of its own.
	Patience time.Duration
	// Search is how long nothing but errors may come before the first list, if that is less
	// than Patience. 0 leaves it to First, or is Patience if there is none.
	Search time.Duration

	mu    sync.Mutex      // guards what follows
	named map[string]bool // Names; nil for all
	known map[types.NamespacedName]sighting
	// watches counts the watches; listed: the first list of this one has come; seen: that
	// of any.
	watches      int
	listed, seen bool
	blind        blindness
}

// sighting is when an object was last seen, and which.
type sighting struct {
	uid   types.UID
	watch int
}

// begin is where a watch begins.
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

// Tolerates returns how long nothing but errors may come now; 0 leaves that to whoever is asked. A
// callback that learns of one calls it, while the view is locked.
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
		views[i] = &View{Server: v.Server, First: v.First, Kind: v.Kind, Selection: v.Selection, Names: []string{name}, Patience: v.Patience, Search: v.Search}
	}
	return views
}

// receive takes note of a change, and passes it on.
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
		if !v.listed { // Later, the watch names what goes.
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

// tellMissing tells of what the first list of a watch lacks: objects that an earlier
// watch knew, and names that none has seen.
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
		tell(object.Gone{Object: v.stub(key, uid)})
	}
}

// stub is what is known of an object that is not there.
func (v *View) stub(key types.NamespacedName, uid types.UID) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v.Kind.GVK)
	u.SetNamespace(key.Namespace)
	u.SetName(key.Name)
	u.SetUID(uid)
	return u
}
