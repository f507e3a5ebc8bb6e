// Package survey reads many objects for the verbs that count or search them, and names what could not
// be read.
package survey

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

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
	// wanted are the objects to read; nil means all that Selection selects.
	wanted map[types.NamespacedName]bool
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

// Named returns the places to read for the targets. The named objects of a kind are one place if
// worth reports that one list across all namespaces is less work than the given number of requests.
// Otherwise, at least [worthList] of them in one namespace are one place; fewer are one place each. The
// callback (why) explains kinds that are not served.
func Named(found []target.Target, why func(schema.GroupVersionKind) error, worth func(kind object.Kind, requests int) bool) []Place {
	var places []Place
	type named struct {
		kind object.Kind
		in   map[string][]string // names by namespace
	}
	var kinds []*named
	at := map[schema.GroupVersionKind]*named{}
	for _, t := range found {
		switch {
		case t.Kind.Resource == "":
			places = append(places, Place{Kind: t.Kind, Selection: t.Selection, err: why(t.Kind.GVK)})
			continue
		case t.Name == "":
			places = append(places, Place{Kind: t.Kind, Selection: t.Selection})
			continue
		}
		if at[t.Kind.GVK] == nil {
			at[t.Kind.GVK] = &named{t.Kind, map[string][]string{}}
			kinds = append(kinds, at[t.Kind.GVK])
		}
		in := at[t.Kind.GVK].in
		in[t.Namespace] = append(in[t.Namespace], t.Name)
	}
	ofKinds := make([][]Place, len(kinds))
	var asking sync.WaitGroup // worth may ask the server
	for i, k := range kinds {
		asking.Go(func() {
			apart := byNamespace(k.kind, k.in)
			if ofKinds[i] = apart; !k.kind.Namespaced || len(k.in) == 1 || !worth(k.kind, len(apart)) {
				return
			}
			all := Place{Kind: k.kind, wanted: map[types.NamespacedName]bool{}}
			for _, p := range apart {
				maps.Copy(all.wanted, p.wanted)
			}
			ofKinds[i] = []Place{all}
		})
	}
	asking.Wait()
	return slices.Concat(append([][]Place{places}, ofKinds...)...)
}

func byNamespace(kind object.Kind, names map[string][]string) []Place {
	var out []Place
	for _, namespace := range slices.Sorted(maps.Keys(names)) {
		whole := Place{Kind: kind, Selection: object.Selection{Namespace: namespace}, wanted: map[types.NamespacedName]bool{}}
		for _, name := range names[namespace] {
			key := types.NamespacedName{Namespace: namespace, Name: name}
			whole.wanted[key] = true
			if len(names[namespace]) < worthList {
				sel := whole.Selection
				sel.Name = name
				out = append(out, Place{Kind: kind, Selection: sel, wanted: map[types.NamespacedName]bool{key: true}})
			}
		}
		if len(names[namespace]) >= worthList {
			out = append(out, whole)
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
	return each(places, func(p Place) (taken T, err error) {
		err = p.Read(ctx, reader, func() { taken = anew() }, func(o client.ObjectFields) { visit(taken, o) })
		return taken, err
	}, done)
}

// each reads the places concurrently, and returns what could not be read. done is called once at a time.
func each[T any](places []Place, read func(Place) (T, error), done func(T)) []event.Unread {
	var mu sync.Mutex
	var unread []event.Unread
	var group errgroup.Group
	group.SetLimit(SideBySide)
	for _, p := range places {
		group.Go(func() error {
			taken, err := read(p)
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
			ref.Namespace, ref.Name, err = missing.at.Namespace, missing.at.Name, missing.error
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
	at types.NamespacedName
}

func (e *missingError) Unwrap() error { return e.error }

// Read calls visit for each wanted object of the place. The callback (begin) is called first, and
// again if the list starts over or the kind was deleted meanwhile. The error joins one
// *missingError for each missing object.
func (p *Place) Read(ctx context.Context, reader *client.NoRetry, begin func(), visit func(client.ObjectFields)) error {
	var seen map[types.NamespacedName]bool
	anew := func() {
		seen = map[types.NamespacedName]bool{}
		begin()
	}
	anew()
	if p.err != nil {
		return p.err
	}
	err := reader.Fields(ctx, p.Kind, p.Selection, anew, func(page client.FieldsPage) {
		for _, o := range page {
			key := types.NamespacedName{Namespace: o.Ref.Namespace, Name: o.Ref.Name}
			if p.wanted == nil || p.wanted[key] {
				visit(o)
				seen[key] = true
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
	for key := range p.wanted {
		if !seen[key] {
			missing = append(missing, &missingError{apierrors.NewNotFound(p.Kind.GVR().GroupResource(), key.Name), key})
		}
	}
	return errors.Join(missing...)
}
