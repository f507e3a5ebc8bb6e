package unready

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/pod"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Facts contains the facts about an object that is not ready, and about the objects on which it
// depends.
type Facts struct {
	Object *unstructured.Unstructured
	// Now is the current time. If it is zero, causes do not mention ages.
	Now time.Time

	known *diagnose.Facts
}

// Gather reads the facts about an object, and marks those that cannot be read. It returns an error
// only if ctx ends; it then also returns the facts read so far. If the reader has a method Now,
// Gather takes the time from it.
func Gather(ctx context.Context, reader diagnose.Reader, live *unstructured.Unstructured) (Facts, error) {
	now := time.Now
	if clock, ok := reader.(interface{ Now() time.Time }); ok {
		now = clock.Now
	}
	f := Facts{Object: live, Now: now(), known: diagnose.NewFacts(live)}
	g := diagnose.Gatherer{
		Now:         now,
		Reader:      reader,
		ReadTimeout: time.Hour, // ctx is the limit.
		// Only a few Pods are examined, which takes few single reads. A list of all nodes or claims
		// may be much longer.
		WorthList: 100,
	}
	return f, g.Fill(ctx, f.known, func(r *diagnose.Run) { newRules(r, live).explain() })
}

// Diagnose explains why the object is not ready. Root causes come first. Pods with the same fault
// share one cause. It returns nil if the facts explain nothing.
func Diagnose(f Facts) []event.Cause {
	if f.Object == nil {
		return nil
	}
	return newRules(diagnose.NewRun(f.Now, f.known), f.Object).explain()
}

type rules struct {
	*rule.View
	pods     pod.Rules
	volumes  pod.VolumeRules
	reported map[object.Key]bool
}

func newRules(r *diagnose.Run, u *unstructured.Unstructured) *rules {
	v := rule.New(r, u)
	return &rules{View: v, pods: pod.On(v), volumes: pod.VolumeRules{View: v}, reported: map[object.Key]bool{}}
}

func (v *rules) explain() []event.Cause {
	found := v.apply()
	v.askLast()
	unread := v.unread()
	if len(found) == 0 && len(unread) > 0 {
		found = declared(v.Object)
	}
	return rule.Causes(append(found, unread...), v.More)
}

func (v *rules) apply() []rule.Finding { return slices.Concat(v.namespace(), v.subject(v.Object)) }

// askLast asks for warnings and for the holders of volumes, once the other answers show which of
// them are needed.
func (v *rules) askLast() {
	if v.Misses() == 0 {
		v.volumes.AskHolders()
		v.AskWarnings()
	}
}

func (v *rules) subject(u *unstructured.Unstructured) []rule.Finding {
	key := object.RefOf(u).Key()
	if v.reported[key] {
		return nil // Two objects may depend on it.
	}
	v.reported[key] = true
	if u.GetDeletionTimestamp() != nil && key != object.RefOf(v.Object).Key() {
		return nil
	}
	silent := []string{"CustomResourceDefinition.apiextensions.k8s.io", "APIService.apiregistration.k8s.io", "Namespace"}
	if !slices.Contains(silent, u.GroupVersionKind().GroupKind().String()) {
		v.Warnings(u) // They may help for any other kind.
	}
	found := append(v.leaving(u), v.unobserved(u)...)
	return append(found, v.findings(u)...)
}

func (v *rules) findings(u *unstructured.Unstructured) []rule.Finding {
	switch u.GroupVersionKind().GroupKind() {
	case diagnose.KindOf("v1", "Pod").GroupKind():
		return typed(v, u, v.pods.Explain)
	case diagnose.KindOf("apps/v1", "Deployment").GroupKind():
		return typed(v, u, v.deployment)
	case diagnose.KindOf("apps/v1", "ReplicaSet").GroupKind():
		return typed(v, u, v.replicaSet)
	case diagnose.KindOf("v1", "ReplicationController").GroupKind():
		return typed(v, u, v.replicationController)
	case diagnose.KindOf("apps/v1", "StatefulSet").GroupKind():
		return typed(v, u, v.statefulSet)
	case diagnose.KindOf("apps/v1", "DaemonSet").GroupKind():
		return typed(v, u, v.daemonSet)
	case diagnose.KindOf("batch/v1", "Job").GroupKind():
		return typed(v, u, v.job)
	case diagnose.KindOf("batch/v1", "CronJob").GroupKind():
		return typed(v, u, v.cronJob)
	case diagnose.KindOf("v1", "PersistentVolumeClaim").GroupKind():
		return typed(v, u, v.volumes.Claim)
	case diagnose.KindOf("v1", "Service").GroupKind():
		return typed(v, u, v.service)
	case diagnose.KindOf("networking.k8s.io/v1", "Ingress").GroupKind():
		return typed(v, u, v.ingress)
	case diagnose.KindOf("resource.k8s.io/v1", "ResourceClaim").GroupKind():
		return v.resourceClaim(u)
	case diagnose.KindOf("apiextensions.k8s.io/v1", "CustomResourceDefinition").GroupKind():
		return v.definition(u)
	case diagnose.KindOf("apiregistration.k8s.io/v1", "APIService").GroupKind():
		return v.apiService(u)
	case diagnose.KindOf("autoscaling/v2", "HorizontalPodAutoscaler").GroupKind():
		return v.autoscaler(u)
	case diagnose.KindOf("v1", "Namespace").GroupKind():
		return nil // v.leaving reports its deletion.
	default:
		return v.custom(u)
	}
}

func typed[T any](v *rules, u *unstructured.Unstructured, rules func(*T) []rule.Finding) []rule.Finding {
	t, ok := rule.As[T](v.View, u)
	if !ok {
		return nil
	}
	return rules(t)
}

const (
	// keptOwn is how long an answer about one namespace or object is reused.
	keptOwn = 45 * time.Second
	// keptShared is how long an answer about the whole cluster is reused.
	keptShared = 3 * time.Minute
)

// Explainer explains stuck objects repeatedly, and reuses facts for a while. It is safe for
// concurrent use, but produces only one explanation at a time. Reader is required.
type Explainer struct {
	Reader diagnose.Reader
	// Now returns the time; nil means time.Now.
	Now func() time.Time

	mu    sync.Mutex
	facts *diagnose.Facts
}

// Asked is an object to explain.
type Asked struct {
	Ref object.Ref
	// Moved is set if the object has changed since the last call. Fresh is set if earlier facts
	// must not be reused.
	Moved, Fresh bool
}

// Cost counts the requests of an explanation.
type Cost struct {
	// Own counts the requests for the objects and their namespaces, Shared those that serve all
	// objects, and Again those that the next explanation will repeat.
	Own, Shared, Again int
}

// Explain explains why each object is not ready, as [Diagnose] does; nil for an object that is gone
// or cannot be read. If ctx ends, it uses the facts read so far.
func (e *Explainer) Explain(ctx context.Context, asked []Asked) ([][]event.Cause, Cost) {
	e.mu.Lock()
	defer e.mu.Unlock()
	g := diagnose.Gatherer{Reader: e.Reader, Now: e.Now, ReadTimeout: time.Hour, WorthList: 100}
	began := g.Time()
	if e.facts == nil {
		e.facts = diagnose.NewFacts()
	}
	e.forget(asked, began)
	var first []diagnose.Question
	for _, a := range asked {
		q := diagnose.Question{Verb: diagnose.Get, GVK: a.Ref.GVK, Namespace: a.Ref.Namespace, Name: a.Ref.Name}
		if _, known := e.facts.Find(q); !known {
			first = append(first, q)
		}
	}
	if g.AskAll(ctx, e.facts, first) == nil {
		_ = g.Fill(ctx, e.facts, func(r *diagnose.Run) { e.rules(r, asked) }) // Incomplete facts are better than none.
	}
	causes := make([][]event.Cause, len(asked))
	for i, a := range asked {
		r := diagnose.NewRun(began, e.facts)
		if live, _ := r.Get(a.Ref.GVK, a.Ref.Namespace, a.Ref.Name); live != nil {
			causes[i] = newRules(r, live).explain()
		}
	}
	return causes, e.cost(began)
}

func (e *Explainer) rules(r *diagnose.Run, asked []Asked) {
	var all []*rules
	for _, a := range asked {
		if live, _ := r.Get(a.Ref.GVK, a.Ref.Namespace, a.Ref.Name); live != nil {
			v := newRules(r, live)
			v.apply()
			all = append(all, v)
		}
	}
	if r.Misses() > 0 {
		return
	}
	for _, v := range all {
		v.volumes.AskHolders()
		v.AskWarnings()
	}
}

func (e *Explainer) forget(asked []Asked, now time.Time) {
	moved, fresh := map[string]bool{}, false
	for _, a := range asked {
		moved[a.Ref.Namespace] = moved[a.Ref.Namespace] || a.Moved
		fresh = fresh || a.Fresh
	}
	e.facts.Forget(func(q diagnose.Question, at time.Time) bool {
		switch {
		case fresh, isVolatile(q):
			return true
		case isShared(q):
			return now.Sub(at) >= keptShared
		default:
			return moved[q.Namespace] || now.Sub(at) >= keptOwn
		}
	})
}

// isVolatile reports whether an answer may differ from one explanation to the next.
func isVolatile(q diagnose.Question) bool {
	return q.Verb == diagnose.List && slices.Contains([]schema.GroupVersionKind{
		diagnose.KindOf("v1", "Pod"), diagnose.KindOf("v1", "Event"), diagnose.KindOf("discovery.k8s.io/v1", "EndpointSlice"), diagnose.KindOf("storage.k8s.io/v1", "VolumeAttachment"),
	}, q.GVK)
}

func isShared(q diagnose.Question) bool { return q.Namespace == "" }

func (e *Explainer) cost(since time.Time) Cost {
	var c Cost
	for _, q := range e.facts.Since(since) {
		switch {
		case isShared(q), q.GVK == diagnose.KindOf("v1", "Event"):
			c.Shared++
		default:
			c.Own++
		}
		if isVolatile(q) {
			c.Again++
		}
	}
	return c
}
