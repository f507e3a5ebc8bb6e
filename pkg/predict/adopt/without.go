package adopt

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Without returns a copy of the object without what is at the paths, or nil if the object
// has nothing at any of them. Parents stay, empty or not, except those in emptied (see
// [Emptied]), which go with all that is left in them: the defaults that have no owner. The
// object is not changed.
func Without(u *unstructured.Unstructured, paths []fieldpath.Path, emptied ...fieldpath.Path) *unstructured.Unstructured {
	var out *unstructured.Unstructured
	for _, p := range paths {
		if _, there := p.Get(u.Object); !there || len(p) == 0 {
			continue
		}
		if out == nil {
			out = u.DeepCopy()
		}
		fieldpath.Delete(out.Object, p)
	}
	if out == nil {
		return nil
	}
	for _, p := range emptied {
		if _, there := p.Get(out.Object); there {
			fieldpath.Delete(out.Object, p)
		}
	}
	return out
}
