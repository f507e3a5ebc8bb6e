package owners

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// ErrHistoryUnknown says that the history of an object is not known. Its [event.History]
// says why.
var ErrHistoryUnknown = errors.New("the history is not known")

// Engine finds the owners of objects. Reader is required.
type Engine struct {
	Reader Reader
	// Path limits the answer to what lies at or below it; empty means everything.
	Path fieldpath.Path
	// Managers limit it to the fields that one of them owns; nil means all fields.
	Managers []string
	// Status includes the status.
	Status bool
	// History includes the history.
	History bool
	// Now returns the time; nil means the clock.
	Now func() time.Time
}

// Run emits an [event.Owned] for each object, in their order. The error joins those of the
// objects that could not be shown: they do not exist, cannot be read, or do not have the
// path, which is a *[fieldpath.NotFoundError]. It is [ErrHistoryUnknown] if only the history is missing.
func (e *Engine) Run(ctx context.Context, refs []object.Ref, emit func(event.Event)) error {
	past := &past{reader: e.Reader, now: e.Now}
	if past.now == nil {
		past.now = time.Now
	}
	var faults []error
	unknown := false
	for _, ref := range refs {
		u, err := e.Reader.Read(ctx, ref)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		owned, err := e.of(u)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", ref, err))
			continue
		}
		if e.History {
			owned.History = past.of(ctx, u, owned)
			unknown = unknown || owned.History.Err != nil
		}
		emit(owned)
	}
	if unknown {
		faults = append(faults, ErrHistoryUnknown)
	}
	return errors.Join(faults...)
}

// of returns the owners of an object's fields, limited to what was asked for.
func (e *Engine) of(u *unstructured.Unstructured) (event.Owned, error) {
	owned, err := of(u, e.Path)
	if err != nil {
		return owned, err
	}
	status := fieldpath.Field("status")
	if !e.Status && len(e.Managers) == 0 && !e.Path.HasPrefix(status) {
		owned.Fields = slices.DeleteFunc(owned.Fields, func(n managedfields.Node) bool {
			hidden := n.Path.Equal(status)
			owned.StatusHidden = owned.StatusHidden || hidden
			return hidden
		})
	}
	if len(e.Managers) == 0 {
		return owned, nil
	}
	all := owned
	owned.Fields, owned.Absent = ownedBy(owned.Fields, e.Managers), ownedBy(owned.Absent, e.Managers)
	if len(owned.Fields)+len(owned.Absent) == 0 {
		return owned, newManagerError(e.Managers, all)
	}
	return owned, nil
}

// of returns the owners of an object's fields, or only of those at a path.
func of(u *unstructured.Unstructured, path fieldpath.Path) (event.Owned, error) {
	entries, err := managedfields.Entries(u)
	if err != nil {
		return event.Owned{}, err
	}
	owned := event.Owned{Ref: object.RefOf(u), Path: path}
	owned.Fields, owned.Absent = managedfields.Tree(redact.Object(u).Object, entries)
	owned.Holdings = holdingsOf(slices.Concat(owned.Fields, owned.Absent))
	owned.Unmanaged = len(entries) == 0 && anyOwnable(owned.Fields)
	if len(path) == 0 {
		return owned, nil
	}
	candidates := meant(u, owned)
	at, found := managedfields.At(owned.Fields, path)
	owned.Fields = nil
	if found {
		owned.Fields = []managedfields.Node{at}
		if len(at.Path) >= len(path) {
			path = at.Path // with all of its keys
		}
	}
	owned.Absent = below(owned.Absent, path)
	if !found && len(owned.Absent) == 0 {
		return owned, fieldpath.NewNotFoundError(path, candidates)
	}
	return owned, nil
}

// anyOwnable reports whether anything could have an owner: an object with nothing but a
// name has no managed fields, and lacks none.
func anyOwnable(fields []managedfields.Node) bool {
	found := false
	managedfields.Walk(fields, func(n managedfields.Node) { found = found || n.Ownable() })
	return found
}

func below(nodes []managedfields.Node, path fieldpath.Path) []managedfields.Node {
	var out []managedfields.Node
	for _, n := range nodes {
		if n.Path.HasPrefix(path) {
			out = append(out, n)
		}
	}
	return out
}

// Reader reads objects. A kind that the server does not serve is an error for
// which [meta.IsNoMatchError] is true.
type Reader interface {
	Read(ctx context.Context, ref object.Ref) (*unstructured.Unstructured, error)
	Select(ctx context.Context, gvk schema.GroupVersionKind, which object.Selection, fields string, visit func(*unstructured.Unstructured)) error
}

// meant returns all paths that may have been meant. Those with owners come first, because
// their keys are right.
func meant(u *unstructured.Unstructured, owned event.Owned) []fieldpath.Path {
	var paths []fieldpath.Path
	see := func(n managedfields.Node) { paths = append(paths, n.Path) }
	managedfields.Walk(owned.Fields, see)
	managedfields.Walk(owned.Absent, see)
	stated := map[string]any{}
	for name, v := range u.Object {
		if name != "metadata" {
			stated[name] = v
		}
	}
	return append(paths, fieldpath.StatedPaths(stated)...)
}
