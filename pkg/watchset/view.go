// Package watchset watches objects of one kind, by name or selector, with one watch. Start with
// [View.Follow]: by the time it reports Synced, it has reported each name as present or gone. It
// joins consecutive watches into one. The package caches no objects and prints nothing.
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
	// Watch reports the selected objects and their changes until ctx ends or an error occurs that a
	// retry does not fix. If the server does not serve the kind, or no longer serves it,
	// meta.IsNoMatchError is true for the error.
	Watch(ctx context.Context, kind object.Kind, sel object.Selection, report func(object.Change)) error
}

// View is a set of objects to watch. Calls to Follow and List must not overlap. Change the exported
// fields only between calls.
type View struct {
	Server Watcher
	// First replaces Server until a list succeeds. Any error from First ends the view: a server
	// that has never answered is not retried here. If First is nil, Server is used from the start.
	First Watcher
	Kind  object.Kind
	// If Names is set, only the namespace of Selection is used.
	Selection object.Selection
	// Names are the names of the objects; nil means all of Selection.
	Names []string
	// Patience is how long reads from Server may fail. If it is 0, the first error from Server ends
	// the view.
	Patience time.Duration
	// Search is how long reads may fail before the first list, if Search is shorter than Patience.
	// If Search is 0, First itself decides how long; if First is also nil, Patience applies.
	Search time.Duration

	mu    sync.Mutex      // guards the fields below
	named map[string]bool // Names; nil for all
	known map[types.NamespacedName]sighting
	// listed is set once the current watch has listed the objects. seen is set once any watch has
	// listed them.
	watches      int
	listed, seen bool
	blind        blindness
}

type sighting struct {
	uid   types.UID
	watch int
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

// Tolerates returns how long reads may fail at the moment. If it returns 0, Server or First itself
// decides how long. Call it only from a callback, while the view is locked.
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

// Ref returns the reference that identifies the view in errors.
func (v *View) Ref() object.Ref {
	s := v.selection()
	return object.Ref{GVK: v.Kind.GVK, Namespace: s.Namespace, Name: s.Name}
}

// Split returns one view per name if err is Forbidden: a user who cannot list a namespace may be
// allowed to watch objects by name (edge case 50). It returns nil if that does not help.
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

func (v *View) receive(change object.Change, giveUp context.CancelCauseFunc, report func(object.Change)) {
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
		if !v.listed { // After that, the watch reports deletions.
			v.listed, v.seen = true, true
			v.reportMissing(report)
		}
	case object.Unreadable:
		v.blind.add(c.Err, v.Tolerates(), &v.mu, giveUp)
	}
	report(change)
}

func keyOf(u *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
}

// reportMissing reports objects as gone if the first list of a watch lacks them: objects that an
// earlier watch saw, and named objects that were never seen.
func (v *View) reportMissing(report func(object.Change)) {
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
		report(object.Gone{Object: object.Stub(v.Kind, key, uid)})
	}
}
