package predict

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Align returns a copy of the manifest that states the live value at the paths, and
// nothing where there is none; nil if it cannot at any of them. Items of lists stay
// as they are: a path that ends in one is passed over.
func Align(manifest, live *unstructured.Unstructured, paths []fieldpath.Path) *unstructured.Unstructured {
	var out *unstructured.Unstructured
	for _, p := range paths {
		if len(p) == 0 || p[len(p)-1].FieldName == nil {
			continue
		}
		v, has := p.Get(live.Object)
		if stated, ok := p.Get(manifest.Object); !ok || has && fieldpath.Equal(stated, v) {
			continue
		}
		if out == nil {
			out = manifest.DeepCopy()
		}
		if has {
			fieldpath.Put(out.Object, p, fieldpath.Clone(v))
		} else {
			fieldpath.Delete(out.Object, p)
		}
	}
	return out
}
