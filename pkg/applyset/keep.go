package applyset

import (
	"slices"
	"strings"
)

// PruneAnnotation on an object, with the value "disabled", keeps it from being pruned.
const PruneAnnotation = "k8sconnect.io/prune"

// keepMark is how users of a tool write on an object that its deletion spares the object.
type keepMark struct {
	key    string
	values []string
	// says reports whether a text is the value, as the tool itself compares.
	says func(text, value string) bool
	// labels, too: the tool reads labels as well as annotations.
	labels bool
	// whole: the tool asks only when it deletes everything.
	whole bool
}

// keepMarks are those of the tools that users come from. docs/design/sets.md has the source
// of each row.
func keepMarks() []keepMark {
	const argo = "argocd.argoproj.io/sync-options"
	const flux = "kustomize.toolkit.fluxcd.io/"
	return []keepMark{
		{key: PruneAnnotation, values: []string{"disabled"}, says: trimmedFold},
		{key: "helm.sh/resource-policy", values: []string{"keep"}, says: trimmedFold},
		{key: flux + "prune", values: []string{"disabled"}, says: strings.EqualFold, labels: true},
		{key: flux + "reconcile", values: []string{"disabled"}, says: strings.EqualFold, labels: true},
		{key: flux + "ssa", values: []string{"ignore"}, says: strings.EqualFold, labels: true},
		{key: argo, values: []string{"Prune=false", "Prune=confirm"}, says: listed},
		{key: argo, values: []string{"Delete=false", "Delete=confirm"}, says: listed, whole: true},
		{key: "cli-utils.sigs.k8s.io/on-remove", values: []string{"keep"}, says: exactly},
		{key: "client.lifecycle.config.k8s.io/deletion", values: []string{"detach"}, says: exactly},
	}
}

func exactly(text, value string) bool { return text == value }

func trimmedFold(text, value string) bool { return strings.EqualFold(strings.TrimSpace(text), value) }

func listed(text, value string) bool {
	return slices.ContainsFunc(strings.Split(text, ","), func(one string) bool { return strings.TrimSpace(one) == value })
}

// keptBy returns the annotation or label that keeps a member, as "annotation KEY: VALUE";
// empty for none. whole: the whole set is to go.
func (m Member) keptBy(whole bool) string {
	for _, mark := range keepMarks() {
		if mark.whole && !whole {
			continue
		}
		for _, value := range mark.values {
			if text, found := m.annotations[mark.key]; found && mark.says(text, value) {
				return "annotation " + mark.key + ": " + value
			}
			if text, found := m.labels[mark.key]; found && mark.labels && mark.says(text, value) {
				return "label " + mark.key + ": " + value
			}
		}
	}
	return ""
}
