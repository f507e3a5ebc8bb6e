package sets

import (
	"context"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// names finds what sets are called, of which objects have only the id. Each is looked for
// once in a run.
type names struct {
	find func(id string, member object.Ref) (parent object.Ref)

	mu    sync.Mutex
	known map[string]object.Ref
}

func namesOf(ctx context.Context, server Server) *names {
	return &names{
		find:  func(id string, member object.Ref) object.Ref { return find(ctx, server, id, []object.Ref{member}) },
		known: map[string]object.Ref{},
	}
}

// fill puts the name of its parent in the place of a set's id, where that can be found out.
func (n *names) fill(claims []applyset.Claim, member object.Ref) {
	for i, c := range claims {
		if c.Mark != applyset.PartOfLabel {
			continue
		}
		if parent := n.of(c.Name, member); parent.Name != "" {
			claims[i].Name = parent.String()
		}
	}
}

func (n *names) of(id string, member object.Ref) object.Ref {
	n.mu.Lock()
	defer n.mu.Unlock()
	parent, known := n.known[id]
	if !known {
		parent = n.find(id, member)
		n.known[id] = parent
	}
	return parent
}

// ClaimedError says that an object belongs to another owner.
type ClaimedError struct{ Claims []applyset.Claim }

func (e *ClaimedError) Error() string {
	names := make([]string, len(e.Claims))
	for i, c := range e.Claims {
		names[i] = c.String()
	}
	return "it belongs to " + strings.Join(names, " and ") + " (" + e.Claims[0].Mark + ")"
}

// Hint says what to do about it.
func (e *ClaimedError) Hint() string {
	return "--allow-join lets it join this set; stop the other one from applying it first, or both will go on changing it"
}

// find finds the parent of the set with this id; zero if there is none, or if that is
// unknown. If not all namespaces may be listed, it looks into those of the members.
func find(ctx context.Context, server Server, id string, members []object.Ref) (parent object.Ref) {
	kinds, _ := parents(ctx, server) // Those that are known will do.
	for _, kind := range kinds {
		sel := object.Selection{Labels: applyset.IDLabel + "=" + id}
		visit := func(u *unstructured.Unstructured) {
			ref := object.RefOf(u)
			ref.GVK = kind.GVK // A list of metadata is of a kind of its own.
			if applyset.ID(ref) == id {
				parent = ref
			}
		}
		err := server.Metadata(ctx, kind, sel, visit)
		if apierrors.IsForbidden(err) && kind.Namespaced {
			for _, sel.Namespace = range namespacesOf(members) {
				_ = server.Metadata(ctx, kind, sel, visit)
			}
		}
		if parent.Name != "" {
			return parent
		}
	}
	return parent
}

func namespacesOf(refs []object.Ref) []string {
	var all []string
	for _, ref := range refs {
		if ref.Namespace != "" {
			all = append(all, ref.Namespace)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
