package managedfields

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"

// LastAppliedAnnotation holds what client-side apply last applied.
const LastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// LastApplied returns the annotation in which client-side apply keeps its last
// configuration, or "".
func LastApplied(object map[string]any) string {
	meta, _ := object["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	text, _ := annotations[LastAppliedAnnotation].(string)
	return text
}

// LastAppliedPath is the path of client-side apply's annotation.
func LastAppliedPath() fieldpath.Path {
	return fieldpath.Field("metadata", "annotations", LastAppliedAnnotation)
}

// IsLastApplied reports whether the path is that of client-side apply's annotation.
func IsLastApplied(p fieldpath.Path) bool { return p.Equal(LastAppliedPath()) }
