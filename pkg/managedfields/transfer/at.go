package transfer

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// At returns a path as the owners in entries write it: a list item may be named by its
// position, or by a part of its key. The error is a *[fieldpath.NotFoundError] if neither the object nor an
// owner has such a path.
func At(object map[string]any, entries []managedfields.Entry, p fieldpath.Path) (fieldpath.Path, error) {
	fields, absent := managedfields.Tree(object, entries)
	if node, found := managedfields.At(fields, p); found {
		if len(node.Path) >= len(p) {
			return node.Path, nil
		}
		return append(node.Path.Clone(), p[len(node.Path):]...), nil // It lies within a value that is one.
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
