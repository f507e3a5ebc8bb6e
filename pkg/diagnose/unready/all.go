package unready

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Explained is an object that is not ready, with its causes.
type Explained struct {
	Ref    object.Ref
	Causes []event.Cause
}

// ExplainAll explains why each of the objects is not ready, as [Diagnose] does. The objects share
// the facts. budget limits the number of questions to the reader; a cause says which of them were
// not asked. If ctx ends, ExplainAll returns the error and uses the facts read so far.
func ExplainAll(ctx context.Context, reader diagnose.Reader, now time.Time, budget int, objects []*unstructured.Unstructured) ([]Explained, error) {
	facts := diagnose.NewFacts(objects...)
	g := diagnose.Gatherer{
		Reader: reader, ReadTimeout: time.Hour, WorthList: 100, Budget: budget,
		Now: func() time.Time { return now },
	}
	err := g.Fill(ctx, facts, func(r *diagnose.Run) { explainTogether(r, objects) })
	out := make([]Explained, len(objects))
	for i, u := range objects {
		out[i] = Explained{object.RefOf(u), newRules(diagnose.NewRun(now, facts), u).explain()}
	}
	return out, err
}

// explainTogether asks the questions about several objects. Warnings and the holders of volumes come
// last, because the other answers show which of them are needed.
func explainTogether(r *diagnose.Run, objects []*unstructured.Unstructured) {
	all := make([]*rules, len(objects))
	for i, u := range objects {
		all[i] = newRules(r, u)
		all[i].apply()
	}
	if r.Misses() > 0 {
		return
	}
	for _, v := range all {
		v.volumes.AskHolders()
		v.AskWarnings()
	}
}

// Roots groups objects by the cause that has to be fixed first. How many Pods of an object are
// affected does not matter. The cause with the most objects comes first. Objects without a cause
// are left out.
func Roots(objects []Explained) []event.Rooted {
	type key struct {
		code, message string
		blockedBy     object.Key
	}
	index := map[key]int{}
	var roots []event.Rooted
	for _, o := range objects {
		cause, ok := rootOf(o.Causes)
		if !ok {
			continue
		}
		k := key{code: cause.Code, blockedBy: cause.BlockedBy.Key()}
		if cause.BlockedBy == (object.Ref{}) || cause.BlockedBy.Key() == o.Ref.Key() {
			k.message = cause.Shared()
		}
		i, known := index[k]
		if !known {
			i = len(roots)
			index[k], roots = i, append(roots, event.Rooted{Cause: cause})
		}
		roots[i].Holds = append(roots[i].Holds, o.Ref)
	}
	for i, root := range roots {
		slices.SortFunc(root.Holds, object.Ref.Compare)
		if len(root.Holds) > 1 {
			roots[i].Cause.Message = root.Cause.Shared()
			roots[i].Cause.Evidence = slices.DeleteFunc(slices.Clone(root.Cause.Evidence), func(e string) bool { return strings.HasPrefix(e, "Pods: ") })
		}
	}
	slices.SortStableFunc(roots, func(a, b event.Rooted) int {
		return cmp.Or(cmp.Compare(len(b.Holds), len(a.Holds)), cmp.Compare(a.Cause.Code, b.Cause.Code), a.Holds[0].Compare(b.Holds[0]))
	})
	return roots
}

// rootOf returns the first cause that prevents readiness or, if there is none, the first doubt.
func rootOf(causes []event.Cause) (event.Cause, bool) {
	for _, ok := range []func(event.Cause) bool{
		func(c event.Cause) bool { return !c.Doubt && !c.Passing },
		func(c event.Cause) bool { return c.Doubt },
		func(event.Cause) bool { return true },
	} {
		if i := slices.IndexFunc(causes, ok); i >= 0 {
			return causes[i], true
		}
	}
	return event.Cause{}, false
}

// SelectsNothing returns the remark on a Service whose selector matches no Pod. The caller knows
// that it matches none.
func SelectsNothing(service *corev1.Service) event.Remarked {
	ref := diagnose.RefOf("v1", "Service", service.Namespace, service.Name)
	return remark(ref, selectorMatchesNothing(service))
}
