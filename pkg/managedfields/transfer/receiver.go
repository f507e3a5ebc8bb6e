package transfer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	statusSubresource = "status"
	scaleSubresource  = "scale"
	ancientChanges    = "ancient-changes"
)

// receiver returns the owner that receives the fields. It is the manager's existing entry, if there
// is one, so that the manager can go on writing as before. If a field is missing from an applier's
// manifest, the applier releases the field; an updater keeps it. So a manager gets a new Apply
// entry only if the wish asks for one, or if its updates give to its known manifest. The receiver is
// never the giver's own entry: nothing would move, and its next apply would conflict with that entry.
func (w Wish) receiver(entries []managedfields.Entry) (managedfields.Owner, error) {
	if w.Mode == Release {
		return managedfields.Owner{}, nil
	}
	to := managedfields.Owner{Manager: w.To, Operation: w.As}
	has := func(match func(managedfields.Entry) bool) bool {
		for _, e := range entries {
			if e.Manager == w.To && match(e) {
				to.APIVersion, to.Subresource, to.Time = e.APIVersion, e.Subresource, e.Time
				to.Operation = e.Operation
				return true
			}
		}
		return false
	}
	applies := func(e managedfields.Entry) bool { return e.Is(w.To) }
	updates := func(e managedfields.Entry) bool {
		return e.Operation == managedfields.Update && e.Subresource == ""
	}
	scales := func(e managedfields.Entry) bool { return e.Subresource == scaleSubresource }
	whole := func(managedfields.Entry) bool { return true }
	switch w.As {
	case managedfields.Apply:
		has(applies)
		return to, nil
	case managedfields.Update:
		if !w.isScale() || !has(scales) {
			has(updates)
		}
		return to, nil
	}
	subresource := func(e managedfields.Entry) bool { return e.Manager == w.To && e.Subresource != "" }
	itself := slices.Contains(w.From, w.To)
	switch {
	case has(applies):
		return to, nil
	case itself && w.Declared != nil:
		return managedfields.Owner{Manager: w.To, Operation: managedfields.Apply}, nil
	case itself && len(w.From) == 1 && !slices.ContainsFunc(entries, subresource) && has(updates):
		return to, object.Hinted("to move the fields to what it applies, use --as-operation=apply", "%s already owns its fields, by updates", to)
	case w.isScale() && has(scales), has(updates):
		return to, nil
	case has(whole): // It only writes a subresource, as controllers do.
		return managedfields.Owner{Manager: w.To, Operation: managedfields.Update}, nil
	}
	return to, object.Hinted("use --as-operation=apply if the manager uses server-side apply (its next apply removes what its manifest does not set), "+
		"or --as-operation=update if not. Managers of this object: "+strings.Join(managers(entries), ", "),
		"%q owns none of its fields yet, so it is unknown how this manager writes", w.To)
}

func (w Wish) isScale() bool {
	replicas := fieldpath.Field("spec", "replicas")
	return len(w.Paths) > 0 && !slices.ContainsFunc(w.Paths, func(p fieldpath.Path) bool { return !p.Equal(replicas) })
}

func (w Wish) check(entries []managedfields.Entry) error {
	const longest = 128 // the API server's limit
	switch {
	case w.Mode == Release:
	case w.To == managedfields.BeforeFirstApply, w.To == ancientChanges:
		return fmt.Errorf("the receiving manager %s is reserved for the API server's own bookkeeping", w.To)
	case w.To == managedfields.Giver:
		return fmt.Errorf("the receiving manager %s is reserved for the verb give, and must own nothing", w.To)
	case w.To == "":
		return errors.New("the receiving manager has no name")
	case len(w.To) > longest:
		return fmt.Errorf("the name of the receiving manager %s is longer than 128 characters", w.To)
	}
	if len(entries) == 0 {
		return ErrUnmanaged
	}
	for _, p := range w.Paths {
		if len(p) > 0 && p.HasPrefix(fieldpath.Field(statusSubresource)) {
			return fmt.Errorf("%s belongs to the status, which its controller writes through a subresource", p)
		}
		if fieldpath.IsIdentity(p) {
			return fmt.Errorf("%s is part of the object's identity, which has no owner", p)
		}
	}
	return nil
}

func managers(entries []managedfields.Entry) []string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// At returns a path in the form in which its owners write it. In p, a list item may be named by
// position or by part of its key. If neither the object nor any owner has the path, the error is a
// *[fieldpath.NotFoundError].
func At(object map[string]any, entries []managedfields.Entry, p fieldpath.Path) (fieldpath.Path, error) {
	fields, absent := managedfields.Tree(object, entries)
	if node, found := managedfields.At(fields, p); found {
		if len(node.Path) >= len(p) {
			return node.Path, nil
		}
		return append(node.Path.Clone(), p[len(node.Path):]...), nil // It is inside a value that is owned as a whole.
	}
	if len(managedfields.HoldersOf(entries, p)) > 0 {
		return p, nil
	}
	var candidates []fieldpath.Path
	see := func(n managedfields.Node) { candidates = append(candidates, n.Path) }
	managedfields.Walk(fields, see)
	managedfields.Walk(absent, see)
	return nil, fieldpath.NewNotFoundError(p, candidates)
}
