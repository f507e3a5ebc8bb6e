package restore

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// unlessWritten returns the step that deletes an object which the run created, or keeps the
// object if others have written into it since: their fields would go with it.
func (n Note) unlessWritten(live *unstructured.Unstructured, manager string, step Step) (Step, error) {
	entries, err := managedfields.Entries(live)
	if err != nil {
		return Step{}, err
	}
	if len(entries) == 0 { // The server never records an owner of an object with nothing but a name (edge case 17).
		for _, field := range slices.Sorted(maps.Keys(live.Object)) {
			if field != "metadata" && field != "status" && !fieldpath.Equal(live.Object[field], n.After.Object[field]) {
				return Step{Do: Keep, Why: "others have written into it since: ." + field}, nil
			}
		}
	}
	for _, e := range managedfields.Others(entries, manager) {
		if e.Manager == manager || e.Subresource != "" || isOfTheCluster(e.Manager) {
			continue
		}
		if paths := contentOf(e.Fields); len(paths) > 0 {
			more := ""
			if n := len(paths) - 1; n > 0 {
				more = fmt.Sprintf(" and %d more", n)
			}
			return Step{Do: Keep, Why: fmt.Sprintf("%s has written into it since: %s%s", e.Manager, paths[0], more)}, nil
		}
	}
	return step, nil
}

// contentOf lists the leaves of a set that users fill, sorted. Labels, annotations, finalizers
// and the status do not count, because controllers write them into each new object; nor does
// a CA bundle, which an injector writes.
func contentOf(set *fieldpath.Set) []fieldpath.Path {
	var paths []fieldpath.Path
	fieldpath.Each(set, func(p fieldpath.Path) {
		if hasBelow(set, p) || p[0].FieldName == nil {
			return
		}
		switch last := p[len(p)-1].FieldName; {
		case *p[0].FieldName == "metadata", *p[0].FieldName == "status", last != nil && *last == "caBundle":
		default:
			paths = append(paths, p.Clone())
		}
	})
	slices.SortFunc(paths, fieldpath.Path.Compare)
	return paths
}

// isOfTheCluster reports whether the manager is a component of Kubernetes, which fills in the
// fields of any object: a claim's volume, a Pod's node.
func isOfTheCluster(manager string) bool {
	return slices.Contains([]string{"kube-controller-manager", "kube-scheduler", "cloud-controller-manager", "kubelet"}, manager)
}
