package table

import (
	"fmt"
	"maps"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/phrase"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// foldLastApplied returns the live side of a diff, in which only the size remains of a
// last-applied annotation that is removed. The annotation repeats the whole object, as
// client-side apply last saw it, and every adoption removes it: it is not worth reading.
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
