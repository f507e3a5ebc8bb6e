package unready

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/survey"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// search reads kinds, judges each object, and explains those that are not ready.
type search struct {
	rules     *condition.Set
	labels    string
	namespace string // empty means all
	now       time.Time
	server    *client.NoRetry
	schemas   interface {
		Schema(ctx context.Context, kind object.Kind) (*spec.Schema, error)
	}
	known       *snapshot
	definitions map[schema.GroupKind]definition
	done        map[schema.GroupVersionKind]bool

	mu                   sync.Mutex
	objects, terminating int
	unready              map[types.UID]*judged
	services             *services
	unread               []event.Unread
	// speaking has the kinds of which some object shows whether it is ready.
	speaking map[schema.GroupKind]bool
}

// judged is an object that is not ready.
type judged struct {
	*entry
	verdict    condition.Verdict
	controller types.UID
	// passes means that the object needs no attention: it does work that ends, or it was replaced.
	passes bool
}

// read reads all kinds, each with one list.
func (s *search) read(ctx context.Context, kinds []object.Kind) {
	s.done, s.unready = map[schema.GroupVersionKind]bool{}, map[types.UID]*judged{}
	s.speaking = map[schema.GroupKind]bool{}
	s.readDefinitions(ctx, kinds)
	for stage := range 3 {
		if stage == level(object.Kind{GVK: pods()}) && s.labels == "" {
			s.services = servicesIn(s.known)
		}
		var group errgroup.Group
		group.SetLimit(survey.SideBySide)
		for _, kind := range kinds {
			if level(kind) == stage && !s.done[kind.GVK] {
				group.Go(func() error {
					s.readKind(ctx, kind, func(*unstructured.Unstructured) {})
					return nil
				})
			}
		}
		_ = group.Wait()
		for _, one := range s.unready {
			if !one.passes && one.ref.Namespace != "" {
				s.known.bad[one.ref.Namespace] = true
			}
		}
	}
	s.readBelow(ctx)
}

// readBelow reads what the rules need of ReplicaSets and Pods, if the search did not include all of
// them. For a few namespaces, the rules' own lists are less work.
func (s *search) readBelow(ctx context.Context) {
	if s.namespace != "" || len(s.known.bad) < worthAll {
		return
	}
	for _, kind := range []object.Kind{
		{GVK: diagnose.KindOf("apps/v1", "ReplicaSet"), Namespaced: true}, {GVK: pods(), Namespaced: true},
	} {
		if s.done[kind.GVK] && s.labels == "" {
			continue
		}
		kept, bad := newListing(), s.known.bad
		err := s.server.Select(ctx, kind.GVK, object.Selection{}, "", func(u *unstructured.Unstructured) {
			if !bad[u.GetNamespace()] {
				return
			}
			if e, err := newEntry(u); err == nil {
				kept.add(e)
			}
		})
		if err == nil {
			kept.complete = func(namespace string) bool { return bad[namespace] }
			s.known.kinds[kind.GVK] = kept
		}
	}
}

// kindRead collects what one list contains.
type kindRead struct {
	*search
	kind                 object.Kind
	condition            *condition.Condition
	seen                 map[types.NamespacedName]bool
	kept                 *listing
	whole                bool
	bad                  map[string]bool
	unready              map[types.UID]*judged
	objects, terminating int
	speaks               bool
	err                  error
}

func (s *search) readKind(ctx context.Context, kind object.Kind, also func(*unstructured.Unstructured)) {
	r := &kindRead{
		search: s, kind: kind, kept: newListing(), seen: map[types.NamespacedName]bool{},
		whole: isWhole(kind), bad: map[string]bool{}, unready: map[types.UID]*judged{},
	}
	if level(kind) > 0 { // The controllers of its objects were read before.
		maps.Copy(r.bad, s.known.bad)
	}
	sel := object.Selection{Labels: s.labels}
	if kind.Namespaced {
		sel.Namespace = s.namespace
	}
	read := s.server.Select
	if kind.GVK == definitions() {
		read = s.server.SelectLarge
	}
	err := read(ctx, kind.GVK, sel, "", func(u *unstructured.Unstructured) {
		also(u)
		r.visit(ctx, u)
	})
	err = cmp.Or(err, r.err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[kind.GVK] = true
	s.objects += r.objects
	s.terminating += r.terminating
	if r.speaks {
		s.speaking[kind.GVK.GroupKind()] = true
	}
	maps.Copy(s.unready, r.unready)
	s.known.kinds[kind.GVK] = r.kept
	if missing, ok := errors.AsType[*client.NoKindError](err); ok && missing.Err == nil && !missing.Unkept {
		return // The kind was deleted meanwhile.
	}
	if err != nil {
		s.unread = append(s.unread, event.Unread{Ref: object.Ref{GVK: kind.GVK, Namespace: sel.Namespace}, Err: err})
		return
	}
	if s.labels == "" {
		r.kept.complete = func(namespace string) bool {
			return (r.whole || r.bad[namespace]) && (sel.Namespace == "" || sel.Namespace == namespace)
		}
	}
}

// visit judges an object and keeps it, if it is needed later. A list that starts over visits some
// objects twice.
func (r *kindRead) visit(ctx context.Context, u *unstructured.Unstructured) {
	at := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	if r.seen[at] || r.err != nil {
		return
	}
	r.seen[at] = true
	r.objects++
	if r.condition == nil {
		if r.condition, r.err = r.conditionOf(ctx, r.kind); r.err != nil {
			return
		}
	}
	if r.kind.GVK == pods() {
		r.services.see(u)
	}
	var bad *judged
	if u.GetDeletionTimestamp() != nil {
		r.terminating++
	} else if v := r.condition.EvaluateAt(ctx, u.Object, r.now); v.Met {
		r.speaks = true
	} else {
		r.speaks = r.speaks || !isSilent(v)
		bad = &judged{verdict: v}
		if v.Err != nil && v.Message == "" {
			bad.verdict.Message = v.Err.Error()
		}
		if owner := metav1.GetControllerOfNoCopy(u); owner != nil {
			bad.controller = owner.UID
		}
		bad.passes = passes(u, v)
	}
	if bad == nil && !r.whole && !r.bad[at.Namespace] {
		return
	}
	e, err := newEntry(u)
	if err != nil {
		r.err = err
		return
	}
	r.kept.add(e)
	if bad != nil {
		bad.entry = e
		r.unready[u.GetUID()] = bad
	}
}

// passes reports whether an unready object needs no attention: it does work that ends, was suspended,
// or has failed and was replaced by its controller.
func passes(u *unstructured.Unstructured, v condition.Verdict) bool {
	gk := u.GroupVersionKind().GroupKind()
	if runsOnce(gk) {
		return !v.Failed
	}
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	return gk == pods().GroupKind() && phase == string(corev1.PodFailed) && metav1.GetControllerOfNoCopy(u) != nil
}

// isCovered reports whether the object's controller is reported instead.
func (s *search) isCovered(one *judged) bool {
	owner := s.unready[one.controller]
	return owner != nil && !owner.passes && !s.isMute(owner)
}

// questions is how many questions the rules may ask about one object.
const questions = 40

func (s *search) result(ctx context.Context) (event.Unready, error) {
	found := event.Unready{
		Objects: s.objects, Kinds: len(s.done), Terminating: s.terminating, Namespace: s.namespace, Unread: s.unread,
	}
	found.Stuck = command.Kubectl("k8sconnect", "stuck") + " -A"
	if s.namespace != "" {
		found.Stuck = command.Kubectl("k8sconnect", "stuck") + " -n " + s.namespace
	}
	var listed []*judged
	for _, one := range s.unready {
		if !one.passes && !s.isCovered(one) {
			listed = append(listed, one)
		}
	}
	slices.SortFunc(listed, func(a, b *judged) int { return a.ref.Compare(b.ref) })
	objects := make([]*unstructured.Unstructured, len(listed))
	for i, one := range listed {
		objects[i] = one.decode()
	}
	explained, err := unready.ExplainAll(ctx, s.known, s.now, mostRequests+questions*len(objects), objects)
	if err != nil {
		return found, err
	}
	var counted []unready.Explained
	for i, one := range listed {
		if s.isUnclear(one, explained[i].Causes) {
			found.Remarks = append(found.Remarks, unclear(one))
			continue
		}
		counted = append(counted, explained[i])
		found.Found = append(found.Found, event.UnreadyObject{
			Ref: one.ref, Failed: one.verdict.Failed, Reason: one.verdict.Reason, Message: one.verdict.Message, Causes: explained[i].Causes,
		})
	}
	found.Roots = unready.Roots(counted)
	found.Remarks = append(s.remarks(ctx), found.Remarks...)
	return found, nil
}
