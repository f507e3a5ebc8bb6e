package owners

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// PathError says that an object has no such path, and that it has no owner either.
type PathError struct {
	Path fieldpath.Path
	// Nearest is the path that may have been meant; empty if none is near.
	Nearest fieldpath.Path
}

func (e *PathError) Error() string { return fmt.Sprintf("there is no %s", e.Path) }

// Hint names the path that may have been meant.
func (e *PathError) Hint() string {
	if len(e.Nearest) == 0 {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", e.Nearest)
}

func newPathError(path fieldpath.Path, candidates []fieldpath.Path) *PathError {
	nearest, _ := path.Nearest(candidates)
	return &PathError{Path: path, Nearest: nearest}
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
