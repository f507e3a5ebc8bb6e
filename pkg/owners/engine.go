// Package owners finds the current owners of an object's fields, and the earlier ones in the
// webhook's OwnershipRecord. It also counts the owners of many objects. Start with [Engine.Run] or
// [Counter].
package owners

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/build"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// ErrHistoryUnknown means that a history is not known; its [event.History] gives the reason.
var ErrHistoryUnknown = errors.New("the history is not known")

// Engine finds the owners of objects. Reader is required.
type Engine struct {
	Reader Reader
	// Path limits the result to a path and everything below it; an empty path means everything.
	Path fieldpath.Path
	// Managers limits the result to the fields of these managers; nil means all.
	Managers []string
	Status   bool
	History  bool
	From     time.Time
	Now      func() time.Time
}

// Run emits an [event.Owned] for each object, in order. With History, an object that is gone has its
// recorded deletions there. It joins the errors of objects that could
// not be shown. It returns [ErrHistoryUnknown] if only a history is missing.
func (e *Engine) Run(ctx context.Context, refs []object.Ref, emit func(event.Event)) error {
	past := &past{reader: e.Reader, now: e.Now, from: e.From}
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
			if gone := e.deletions(ctx, ref, err); len(gone) > 0 {
				emit(event.Owned{Ref: ref, Path: e.Path, Deletions: gone})
			} else {
				faults = append(faults, err)
			}
			continue
		}
		owned, err := e.owned(u)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", ref, err))
			continue
		}
		if e.History {
			owned.History = past.history(ctx, u, owned)
			unknown = unknown || owned.History.Err != nil
		}
		emit(owned)
	}
	if unknown {
		faults = append(faults, ErrHistoryUnknown)
	}
	return errors.Join(faults...)
}

// deletions returns the recorded deletions of an object that no longer exists. They are its history.
func (e *Engine) deletions(ctx context.Context, ref object.Ref, err error) []event.Deletion {
	if !e.History || !apierrors.IsNotFound(err) {
		return nil
	}
	found, err := DeletionsOf(ctx, e.Reader, ref)
	if err != nil {
		return nil // The object is reported as not found.
	}
	return slices.DeleteFunc(found, func(d event.Deletion) bool { return d.Time().Before(e.From) })
}

func (e *Engine) owned(u *unstructured.Unstructured) (event.Owned, error) {
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
	candidates := intended(u, owned)
	at, found := managedfields.At(owned.Fields, path)
	owned.Fields = nil
	if found {
		owned.Fields = []managedfields.Node{at}
		if len(at.Path) >= len(path) {
			path = at.Path
		}
	}
	owned.Absent = below(owned.Absent, path)
	if !found && len(owned.Absent) == 0 {
		return owned, fieldpath.NewNotFoundError(path, candidates)
	}
	return owned, nil
}

// anyOwnable reports whether any field can have an owner. It returns false for an object with
// nothing but a name, which has no managed fields.
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

// Reader reads objects. A [meta.IsNoMatchError] error means that the server does not serve the
// kind.
type Reader interface {
	Read(ctx context.Context, ref object.Ref) (*unstructured.Unstructured, error)
	Select(ctx context.Context, gvk schema.GroupVersionKind, which object.Selection, fields string, visit func(*unstructured.Unstructured)) error
}

// intended returns all the paths that the user may have meant, those with owners first.
func intended(u *unstructured.Unstructured, owned event.Owned) []fieldpath.Path {
	var paths []fieldpath.Path
	see := func(n managedfields.Node) { paths = append(paths, n.Path) }
	managedfields.Walk(owned.Fields, see)
	managedfields.Walk(owned.Absent, see)
	declared := map[string]any{}
	for name, v := range u.Object {
		if name != "metadata" {
			declared[name] = v
		}
	}
	return append(paths, fieldpath.ManifestPaths(declared)...)
}

// UnknownError means that it is unknown whether anything was taken, and gives the reason.
type UnknownError struct {
	Reason string
	hint   string
}

func (e *UnknownError) Error() string { return e.Reason }

// Hint returns advice on how to find out; it may be empty.
func (e *UnknownError) Hint() string { return e.hint }

func newOmission(why ownership.Omission, kind schema.GroupKind, namespace, own string) error {
	never := build.Page("webhook.md#when-it-is-called")
	permissions := build.Page("webhook.md#permissions")
	switch why {
	case ownership.OmissionNever:
		return &UnknownError{"the webhook never tracks the kind " + kind.String(), "see " + never}
	case ownership.OmissionKind:
		if kind == (schema.GroupKind{Kind: "Secret"}) {
			return &UnknownError{
				"the webhook does not track Secrets (its chart's value tracking.secrets)",
				"to see what tracking.secrets=true grants, read " + permissions,
			}
		}
		return &UnknownError{"the webhook excludes the kind " + kind.String() + " (its chart's value exclude.kinds)", ""}
	case ownership.OmissionNamespace:
		switch {
		case namespace == own:
			return &UnknownError{"the webhook never tracks its own namespace, " + namespace, "see " + never}
		case slices.Contains([]string{"kube-system", "kube-node-lease"}, namespace):
			return &UnknownError{"the webhook never tracks the namespace " + namespace, "see " + never}
		}
		return &UnknownError{"the webhook excludes the namespace " + namespace + " (its chart's value exclude.namespaces)", ""}
	case ownership.OmissionRefused:
		return &UnknownError{
			"the webhook is not allowed to list and watch the kind " + kind.String(),
			"allow it with the chart's value tracking.customGroups, or with a ClusterRole: " + permissions,
		}
	default:
		return &UnknownError{"the webhook does not track the kind " + kind.String() + ": it cannot be watched, or is new", ""}
	}
}

// unvouched returns nil if an empty record proves that no field was taken. Otherwise, it returns an
// error that gives the reason.
func unvouched(c event.Coverage, onlyStatus bool) error {
	switch {
	case onlyStatus:
		return &UnknownError{"the webhook does not record writes through the status subresource", ""}
	case c.Stale:
		return &UnknownError{
			"nothing is recorded, and the webhook has recorded no progress since " + c.Until.UTC().Format(time.RFC3339) + "; is it running?", "",
		}
	}
	return nil
}

// onlyStatus reports whether all selected fields belong to the status subresource, which is not
// tracked.
func onlyStatus(owned event.Owned) bool {
	asked := slices.Concat(owned.Fields, owned.Absent)
	if len(asked) == 0 {
		return false
	}
	only := true
	status := fieldpath.Field("status")
	managedfields.Walk(asked, func(n managedfields.Node) {
		if len(n.Below) == 0 && !n.Path.HasPrefix(status) {
			only = false
		}
		for _, o := range n.Owners {
			only = only && cmp.Or(o.Subresource, "-") == "status"
		}
	})
	return only
}
