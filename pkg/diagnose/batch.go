package diagnose

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// worthList is the number of objects in a namespace from which one list is read
	// instead of each object.
	worthList = 4
	// worthAll is the number of namespaces from which one list of the whole cluster is
	// read.
	worthAll = 8
)

// batches combines questions that one list can answer, in order. If that list was refused,
// each question is asked on its own.
func batches(f *Facts, asked map[Question]func() Collector, worth int) []Question {
	lists := map[Question]int{}
	for q := range asked {
		if q.Verb == Get {
			lists[Question{Verb: List, GVK: q.GVK, Namespace: q.Namespace}]++
		}
	}
	namespaces := map[schema.GroupVersionKind]int{}
	for q := range lists {
		namespaces[q.GVK]++
	}
	batch := map[Question]bool{}
	for q := range asked {
		here := Question{Verb: List, GVK: q.GVK, Namespace: q.Namespace}
		everywhere := Question{Verb: List, GVK: q.GVK}
		switch {
		case q.Verb != Get || secret(q.GVK):
			batch[q] = true
		case namespaces[q.GVK] >= worthAll && !f.has(everywhere):
			batch[everywhere] = true
		case lists[here] >= worth && !f.has(here):
			batch[here] = true
		default:
			batch[q] = true
		}
	}
	questions := make([]Question, 0, len(batch))
	for q := range batch {
		questions = append(questions, q)
	}
	slices.SortFunc(questions, Question.compare)
	return questions
}

// secret reports whether objects of the kind must not be read in bulk.
func secret(gvk schema.GroupVersionKind) bool { return gvk.Group == "" && gvk.Kind == "Secret" }
