package owners

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

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
