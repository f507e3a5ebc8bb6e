package ownerscmd

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
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/owners"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// place is one list to read: all selected objects of a kind, or some of them.
type place struct {
	kind object.Kind
	sel  object.Selection
	// names are the wanted objects; nil means all.
	names []string
	// unnamed means that the user did not name the kind.
	unnamed bool
	err     error
}

// places returns the lists to read, and a phrase that describes them.
func (o *surveyOptions) places(ctx context.Context, in verb.Invocation, client *client.Client) ([]place, string, error) {
	switch {
	case o.everything:
		return o.allKinds(ctx, in, client)
	case o.targets.InFiles:
		p, err := o.targets.Files.Order(ctx, in.Connection, client, o.out.Print)
		if err != nil {
			return nil, "", err
		}
		if err := o.targets.Files.InServedVersions(ctx, client, p, o.out.Print); err != nil {
			return nil, "", err
		}
		return named(itemsOf(p), why(ctx, client)), " of the manifests", nil
	}
	found, err := o.targets.Resolve(ctx, in.Connection, client)
	if err != nil {
		return nil, "", err
	}
	return named(found, why(ctx, client)), "", nil
}

// why returns a function that explains why a kind is not served. The function asks the server only
// once for each kind.
func why(ctx context.Context, client *client.Client) func(schema.GroupVersionKind) error {
	asked := map[schema.GroupVersionKind]error{}
	return func(gvk schema.GroupVersionKind) error {
		if asked[gvk] == nil {
			asked[gvk] = client.Unserved(ctx, gvk)
		}
		return asked[gvk]
	}
}

func (o *surveyOptions) allKinds(ctx context.Context, in verb.Invocation, client *client.Client) ([]place, string, error) {
	sel, where := object.Selection{Labels: o.targets.Labels}, " in the cluster"
	if !o.targets.Everywhere {
		namespace, _, err := in.Namespace()
		if err != nil {
			return nil, "", err
		}
		sel.Namespace, where = namespace, " in the namespace "+namespace
	}
	listable, err := client.Listable(ctx)
	if err != nil {
		return nil, "", err
	}
	return worthCounting(listable, sel), where, nil
}

// worthCounting returns one place for each kind that the selection can contain. It skips Events,
// which expire within an hour and have only one owner.
func worthCounting(kinds []object.Kind, sel object.Selection) []place {
	var places []place
	for _, kind := range kinds {
		group := kind.GVK.Group
		isEvent := kind.GVK.Kind == "Event" && (group == "" || group == "events.k8s.io")
		if (kind.Namespaced || sel.Namespace == "") && !isEvent {
			places = append(places, place{kind: kind, sel: sel, unnamed: true})
		}
	}
	return places
}

func itemsOf(p *plan.Plan) []target.Target {
	var found []target.Target
	for item := range p.Items() {
		kind := item.Kind
		if kind.Resource == "" {
			kind = object.Kind{GVK: item.GVK}
		}
		found = append(found, target.Target{Kind: kind, Selection: object.Selection{Namespace: item.Namespace, Name: item.Name}})
	}
	return found
}

// worthList is the smallest number of objects in a namespace that are read with a list instead of
// one by one.
const worthList = 6

// named returns the places to read for the targets. At least [worthList] named objects of a kind
// and namespace share one place; fewer get one place each. The callback (why) explains kinds that
// are not served.
func named(found []target.Target, why func(schema.GroupVersionKind) error) []place {
	var places []place
	type list struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	lists := map[list]int{}
	for _, t := range found {
		switch {
		case t.Kind.Resource == "":
			places = append(places, place{kind: t.Kind, sel: t.Selection, err: why(t.Kind.GVK)})
			continue
		case t.Name == "":
			places = append(places, place{kind: t.Kind, sel: t.Selection})
			continue
		}
		at := list{t.Kind.GVK, t.Namespace}
		i, known := lists[at]
		if !known {
			i = len(places)
			lists[at] = i
			places = append(places, place{kind: t.Kind, sel: object.Selection{Namespace: t.Namespace}})
		}
		places[i].names = append(places[i].names, t.Name)
	}
	var out []place
	for _, p := range places {
		if p.err != nil || len(p.names) == 0 || len(p.names) >= worthList {
			out = append(out, p)
			continue
		}
		for _, name := range p.names {
			sel := p.sel
			sel.Name = name
			out = append(out, place{kind: p.kind, sel: sel, names: []string{name}})
		}
	}
	return out
}

// sideBySide is the maximum number of lists read concurrently. One page of each is held in memory.
const sideBySide = 6

// count counts the owners in the places. The result includes the kinds that cannot be read.
func count(ctx context.Context, reader *client.NoRetry, places []place, question owners.Question) event.Surveyed {
	all := owners.New(question)
	for _, u := range read(ctx, reader, places, func() *owners.Counter { return owners.New(question) },
		func(c *owners.Counter, o client.ObjectFields) { c.Add(o.Ref, o.Fields) }, all.Merge) {
		all.Miss(u)
	}
	return all.Result()
}

// EachKind reads the metadata of the selected objects concurrently. The callback (anew) creates the
// collector of a kind, and is called again if the kind's list starts over. The callback (done) is
// called only with the newest collector of each kind, one at a time. EachKind returns the kinds and
// objects that it could not read.
func EachKind[T any](
	ctx context.Context, reader *client.NoRetry, kinds []object.Kind, sel object.Selection, anew func() T, visit func(T, client.ObjectFields), done func(T),
) []event.Unread {
	return read(ctx, reader, worthCounting(kinds, sel), anew, visit, done)
}

func read[T any](
	ctx context.Context, reader *client.NoRetry, places []place, anew func() T, visit func(T, client.ObjectFields), done func(T),
) []event.Unread {
	var mu sync.Mutex
	var unread []event.Unread
	var group errgroup.Group
	group.SetLimit(sideBySide)
	for _, p := range places {
		group.Go(func() error {
			var taken T
			err := p.read(ctx, reader, func() { taken = anew() }, func(o client.ObjectFields) { visit(taken, o) })
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

func (p *place) unread(err error) []event.Unread {
	var all []event.Unread
	for _, err := range verb.Flatten(err) {
		if err == nil {
			continue
		}
		ref := object.Ref{GVK: p.kind.GVK, Namespace: p.sel.Namespace, Name: p.sel.Name}
		if missing, ok := errors.AsType[*missingError](err); ok {
			ref.Name, err = missing.name, missing.error
		}
		all = append(all, event.Unread{Ref: ref, Err: err})
	}
	return all
}

// hasGone reports whether a kind that the user did not name was deleted during the read. It is
// false for an API whose server does not answer.
func (p *place) hasGone(err error) bool {
	missing, ok := errors.AsType[*client.NoKindError](err)
	return ok && p.unnamed && missing.Err == nil && !missing.Unkept
}

type missingError struct {
	error
	name string
}

func (e *missingError) Unwrap() error { return e.error }

// read calls visit for each wanted object of the place. The callback (begin) is called first, and
// again if the list starts over or the kind was deleted meanwhile. The error joins one
// *missingError for each missing object.
func (p *place) read(ctx context.Context, reader *client.NoRetry, begin func(), visit func(client.ObjectFields)) error {
	var seen map[string]bool
	anew := func() {
		seen = map[string]bool{}
		begin()
	}
	anew()
	if p.err != nil {
		return p.err
	}
	err := reader.Fields(ctx, p.kind, p.sel, anew, func(page client.FieldsPage) {
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
			missing = append(missing, &missingError{apierrors.NewNotFound(p.kind.GVR().GroupResource(), name), name})
		}
	}
	return errors.Join(missing...)
}
