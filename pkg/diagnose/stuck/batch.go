package stuck

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// worthList is from how many objects of a namespace on one list is read instead
	// of each by itself.
	worthList = 4
	// worthAll is from how many namespaces on one list of all of them is.
	worthAll = 8
)

// batches puts questions together where one list answers many, and in order.
// Where such a list was refused, each is asked by itself.
func batches(k *known, asked map[question]bool) []question {
	lists := map[question]int{}
	for q := range asked {
		if q.verb == get {
			lists[question{verb: list, gvk: q.gvk, namespace: q.namespace}]++
		}
	}
	namespaces := map[schema.GroupVersionKind]int{}
	for q := range lists {
		namespaces[q.gvk]++
	}
	batch := map[question]bool{}
	for q := range asked {
		here := question{verb: list, gvk: q.gvk, namespace: q.namespace}
		everywhere := question{verb: list, gvk: q.gvk}
		switch {
		case q.verb != get || secret(q.gvk):
			batch[q] = true
		case namespaces[q.gvk] >= worthAll && !k.has(everywhere):
			batch[everywhere] = true
		case lists[here] >= worthList && !k.has(here):
			batch[here] = true
		default:
			batch[q] = true
		}
	}
	questions := make([]question, 0, len(batch))
	for q := range batch {
		questions = append(questions, q)
	}
	slices.SortFunc(questions, question.compare)
	return questions
}

// secret tells whether objects of the kind hold what should not be read in bulk.
func secret(gvk schema.GroupVersionKind) bool { return gvk.Group == "" && gvk.Kind == "Secret" }

// compare puts what others follow from first.
func (q question) compare(other question) int {
	return cmp.Or(
		cmp.Compare(q.verb.order(), other.verb.order()),
		cmp.Compare(q.gvk.String(), other.gvk.String()),
		cmp.Compare(q.namespace, other.namespace),
		cmp.Compare(q.name, other.name),
		cmp.Compare(q.user, other.user),
		cmp.Compare(q.detail, other.detail),
	)
}

func (v verb) order() int {
	return slices.Index([]verb{kinds, get, list, metadata, allowed, replay}, v)
}

// has tells whether the very question was asked, whatever came of it.
func (k *known) has(q question) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	_, ok := k.answers[q]
	return ok
}
