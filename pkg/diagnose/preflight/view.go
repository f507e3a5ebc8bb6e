package preflight

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// view is one run of the rules.
type view struct {
	*diagnose.Run
	set *set
}

// exists reports whether an object is in the set or in the cluster; sure is false if that
// is not known.
func (v *view) exists(ref object.Ref) (there, sure bool) {
	if v.set.find(ref) != nil {
		return true, true
	}
	return v.Exists(ref)
}

func core(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: corev1.SchemeGroupVersion.Version, Kind: kind}
}

func apps(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
}

func refOf(gvk schema.GroupVersionKind, namespace, name string) object.Ref {
	return object.Ref{GVK: gvk, Namespace: namespace, Name: name}
}

// others says how many objects are concerned besides the one that is named.
func others(n int, noun, also string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; 1 more %s of this set %ss it", noun, also)
	default:
		return fmt.Sprintf("; %d more %ss of this set %s it", n, noun, also)
	}
}
