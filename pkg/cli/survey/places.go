// Package survey reads many objects for the verbs that count or search them, and names what could not
// be read.
package survey

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/target"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Place is one list to read: all selected objects of a kind, or some of them.
type Place struct {
	Kind      object.Kind
	Selection object.Selection
	// names are the wanted objects; nil means all.
	names []string
	// unnamed means that the user did not name the kind.
	unnamed bool
	err     error
}

// AllKinds returns one place for each kind that the selection can contain. It skips Events,
// which expire within an hour and have only one owner.
func AllKinds(kinds []object.Kind, sel object.Selection) []Place {
	var places []Place
	for _, kind := range kinds {
		group := kind.GVK.Group
		isEvent := kind.GVK.Kind == "Event" && (group == "" || group == "events.k8s.io")
		if (kind.Namespaced || sel.Namespace == "") && !isEvent {
			places = append(places, Place{Kind: kind, Selection: sel, unnamed: true})
		}
	}
	return places
}

// worthList is the smallest number of objects in a namespace that are read with a list instead of
// one by one.
const worthList = 6

// Named returns the places to read for the targets. At least [worthList] named objects of a kind
// and namespace share one place; fewer get one place each. The callback (why) explains kinds that
// are not served.
func Named(found []target.Target, why func(schema.GroupVersionKind) error) []Place {
	var places []Place
	type list struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	lists := map[list]int{}
	for _, t := range found {
		switch {
		case t.Kind.Resource == "":
			places = append(places, Place{Kind: t.Kind, Selection: t.Selection, err: why(t.Kind.GVK)})
			continue
		case t.Name == "":
			places = append(places, Place{Kind: t.Kind, Selection: t.Selection})
			continue
		}
		at := list{t.Kind.GVK, t.Namespace}
		i, known := lists[at]
		if !known {
			i = len(places)
			lists[at] = i
			places = append(places, Place{Kind: t.Kind, Selection: object.Selection{Namespace: t.Namespace}})
		}
		places[i].names = append(places[i].names, t.Name)
	}
	var out []Place
	for _, p := range places {
		if p.err != nil || len(p.names) == 0 || len(p.names) >= worthList {
			out = append(out, p)
			continue
		}
		for _, name := range p.names {
			sel := p.Selection
			sel.Name = name
			out = append(out, Place{Kind: p.Kind, Selection: sel, names: []string{name}})
		}
	}
	return out
}

// SideBySide is the maximum number of lists read concurrently. One page of each is held in memory.
const SideBySide = 6

// EachKind reads the metadata of the selected objects concurrently. The callback (anew) creates the
// collector of a kind, and is called again if the kind's list starts over. The callback (done) is
// called only with the newest collector of each kind, one at a time. EachKind returns the kinds and
// objects that it could not read.
func EachKind[T any](
	ctx context.Context, reader *client.NoRetry, kinds []object.Kind, sel object.Selection, anew func() T, visit func(T, client.ObjectFields), done func(T),
) []event.Unread {
	return Read(ctx, reader, AllKinds(kinds, sel), anew, visit, done)
}

// Read reads the metadata of the objects in the places concurrently; see [EachKind] for the
// callbacks. It returns what it could not read.
func Read[T any](
	ctx context.Context, reader *client.NoRetry, places []Place, anew func() T, visit func(T, client.ObjectFields), done func(T),
) []event.Unread {
	var mu sync.Mutex
	var unread []event.Unread
	var group errgroup.Group
	group.SetLimit(SideBySide)
	for _, p := range places {
		group.Go(func() error {
			var taken T
			err := p.Read(ctx, reader, func() { taken = anew() }, func(o client.ObjectFields) { visit(taken, o) })
			mu.Lock()
			defer mu.Unlock()
			done(taken)
			unread = append(unread, p.unread(err)...)
			return nil
		})
	}
	_ = group.Wait()
	return unread
}

func (p *Place) unread(err error) []event.Unread {
	var all []event.Unread
	for _, err := range verb.Flatten(err) {
		if err == nil {
			continue
		}
		ref := object.Ref{GVK: p.Kind.GVK, Namespace: p.Selection.Namespace, Name: p.Selection.Name}
		if missing, ok := errors.AsType[*missingError](err); ok {
			ref.Name, err = missing.name, missing.error
		}
		all = append(all, event.Unread{Ref: ref, Err: err})
	}
	return all
}

// hasGone reports whether a kind that the user did not name was deleted during the read. It is
// false for an API whose server does not answer.
func (p *Place) hasGone(err error) bool {
	missing, ok := errors.AsType[*client.NoKindError](err)
	return ok && p.unnamed && missing.Err == nil && !missing.Unkept
}

type missingError struct {
	error
	name string
}

func (e *missingError) Unwrap() error { return e.error }

// Read calls visit for each wanted object of the place. The callback (begin) is called first, and
// again if the list starts over or the kind was deleted meanwhile. The error joins one
// *missingError for each missing object.
func (p *Place) Read(ctx context.Context, reader *client.NoRetry, begin func(), visit func(client.ObjectFields)) error {
	var seen map[string]bool
	anew := func() {
		seen = map[string]bool{}
		begin()
	}
	anew()
	if p.err != nil {
		return p.err
	}
	err := reader.Fields(ctx, p.Kind, p.Selection, anew, func(page client.FieldsPage) {
		for _, o := range page {
			if p.names == nil || slices.Contains(p.names, o.Ref.Name) {
				visit(o)
			}
			if p.names != nil {
				seen[o.Ref.Name] = true
			}
		}
	})
	if p.hasGone(err) {
		anew()
		return nil
	}
	if err != nil {
		return err
	}
	var missing []error
	for _, name := range p.names {
		if !seen[name] {
			missing = append(missing, &missingError{apierrors.NewNotFound(p.Kind.GVR().GroupResource(), name), name})
		}
	}
	return errors.Join(missing...)
}
