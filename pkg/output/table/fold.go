package table

import (
	"fmt"
	"maps"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/phrase"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// foldLastApplied returns the live side of a diff with but the size of a last-applied
// annotation that goes. It holds the whole object once more, as client-side apply
// last saw it, and goes whenever an object is adopted: nobody wants to read it.
func foldLastApplied(before, after map[string]any) map[string]any {
	path := fieldpath.Field("metadata", "annotations", managedfields.LastAppliedAnnotation)
	was, _ := path.Get(before)
	last, ok := was.(string)
	if _, stays := path.Get(after); !ok || stays || last == phrase.Masked {
		return before
	}
	meta, _ := before["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	before, meta, annotations = maps.Clone(before), maps.Clone(meta), maps.Clone(annotations)
	annotations[managedfields.LastAppliedAnnotation] = fmt.Sprintf("(%s)", text.Count(len(last), "byte"))
	meta["annotations"], before["metadata"] = annotations, meta
	return before
}

// isLastApplied reports whether a change is that of a last-applied annotation.
func isLastApplied(c managedfields.Change) bool {
	return c.Path.Equal(fieldpath.Field("metadata", "annotations", managedfields.LastAppliedAnnotation))
}
