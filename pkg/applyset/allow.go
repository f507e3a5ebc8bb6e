package applyset

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// ParseAllow parses a kind that may be pruned: one of the [Protected], by its kind,
// resource or short name, with or without its group.
func ParseAllow(text string) (schema.GroupKind, error) {
	word, group, grouped := strings.Cut(strings.ToLower(strings.TrimSpace(text)), ".")
	names := map[string][]string{
		"CustomResourceDefinition": {"customresourcedefinition", "customresourcedefinitions", "crd", "crds"},
		"Namespace":                {"namespace", "namespaces", "ns"},
		"PersistentVolumeClaim":    {"persistentvolumeclaim", "persistentvolumeclaims", "pvc"},
	}
	for _, gk := range Protected() {
		if grouped && group != gk.Group {
			continue
		}
		if slices.Contains(names[gk.Kind], word) {
			return gk, nil
		}
	}
	return schema.GroupKind{}, &object.HintedError{
		Err:    fmt.Errorf("%q is no kind that has to be allowed", text),
		Advice: "those are CustomResourceDefinition, Namespace and PersistentVolumeClaim; all others are pruned anyway",
	}
}
