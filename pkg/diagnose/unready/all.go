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

// Roots groups objects by the causes that have to be fixed. An object belongs to each of its causes.
// How many Pods of an object are affected does not matter. The cause with the most objects comes
// first. Objects without a cause are left out.
func Roots(objects []Explained) []event.Rooted {
	index := map[event.RootKey]int{}
	var roots []event.Rooted
	for _, o := range objects {
		mine := map[event.RootKey]bool{}
		for _, cause := range rootsOf(o.Causes) {
			k := cause.Root(o.Ref)
			if mine[k] {
				continue
			}
			mine[k] = true
			i, known := index[k]
			if !known {
				i = len(roots)
				index[k], roots = i, append(roots, event.Rooted{Cause: cause})
			}
			roots[i].Holds = append(roots[i].Holds, o.Ref)
		}
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

// rootsOf returns the causes that prevent readiness and do not follow from others. If there are none,
// it returns the first cause that follows, or else the first doubt.
func rootsOf(causes []event.Cause) []event.Cause {
	var roots []event.Cause
	for _, c := range causes {
		if !c.Doubt && !c.Passing && !c.Follows {
			roots = append(roots, c)
		}
	}
	if len(roots) > 0 {
		return roots
	}
	for _, ok := range []func(event.Cause) bool{
		func(c event.Cause) bool { return !c.Doubt && !c.Passing },
		func(c event.Cause) bool { return c.Doubt },
		func(event.Cause) bool { return true },
	} {
		if i := slices.IndexFunc(causes, ok); i >= 0 {
			return causes[i : i+1]
		}
	}
	return nil
}

// SelectsNothing returns the remark on a Service whose selector matches no Pod. The caller knows
// that it matches none.
func SelectsNothing(service *corev1.Service) event.Remarked {
	ref := diagnose.RefOf("v1", "Service", service.Namespace, service.Name)
	return remark(ref, selectorMatchesNothing(service))
}
