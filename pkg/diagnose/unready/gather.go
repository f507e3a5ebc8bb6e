package unready

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Bounds of what is looked at for one object.
const (
	// keepUnready is how many Pods that are not ready are kept; of the others only
	// their number.
	keepUnready = 200
	// keepReady is how many Pods that are ready are kept, to compare with.
	keepReady = 20
	// keepFailed is how many Pods that have failed are kept. They are replaced
	// already, or what they failed of is the same for all.
	keepFailed = 20
	// detail is of how many Pods is read what they refer to.
	detail = 10
	// keepEvents is how many warnings are kept, each kind of it once an object.
	keepEvents = 500
)

// Gather reads what the situation of the object asks for, and no more: what
// cannot be read is noted as such. It returns an error only where ctx ends, with
// the facts as far as they go; a caller whose own time is over gives it some of
// its own.
func Gather(ctx context.Context, reader Reader, live *unstructured.Unstructured) (Facts, error) {
	g := &gathering{
		reader: reader,
		facts:  Facts{Object: live, Now: time.Now()},
		asked:  map[object.Key]bool{object.RefOf(live).Key(): true},
		uids:   map[string]bool{string(live.GetUID()): true},
	}
	together(
		func() { g.namespace(ctx, live.GetNamespace()) },
		func() { g.subject(ctx, live) },
	)
	g.holders(ctx)
	g.warnings(ctx)
	g.webhooks(ctx)
	return g.facts, context.Cause(ctx)
}

// gathering is one call of Gather.
type gathering struct {
	reader Reader

	mu    sync.Mutex
	facts Facts
	asked map[object.Key]bool
	uids  map[string]bool // of what is in the facts
	// exclusive are claims that Pods wait for and that one node or Pod can have.
	exclusive []*corev1.PersistentVolumeClaim
}

// together runs steps side by side and waits for all. There are never many, and
// the reader has a pace of its own.
func together(steps ...func()) {
	var wait sync.WaitGroup
	for _, step := range steps {
		wait.Go(step)
	}
	wait.Wait()
}

// first tells whether nobody has asked for the object before.
func (g *gathering) first(r object.Ref) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.asked[r.Key()] {
		return false
	}
	g.asked[r.Key()] = true
	return true
}

// read reads an object into the facts, once. It returns nil where there is none to
// go on from, or somebody else goes on.
func (g *gathering) read(ctx context.Context, r object.Ref) *unstructured.Unstructured {
	if r.Name == "" || !g.first(r) {
		return nil
	}
	u, err := g.reader.Read(ctx, r)
	switch {
	case apierrors.IsNotFound(err), err != nil && notServed(err):
		g.note(func(f *Facts) { f.Absent = append(f.Absent, r) })
	case err != nil:
		g.failed(r, err)
	default:
		g.add(u)
		return u
	}
	return nil
}

// exists notes whether an object is there.
func (g *gathering) exists(ctx context.Context, r object.Ref) {
	if r.Name == "" || !g.first(r) {
		return
	}
	there, err := g.reader.Exists(ctx, r)
	switch {
	case err != nil && !notServed(err):
		g.failed(r, err)
	case there:
		g.note(func(f *Facts) { f.Present = append(f.Present, r) })
	default:
		g.note(func(f *Facts) { f.Absent = append(f.Absent, r) })
	}
}

// each lists objects and adds those that keep wants. A kind that is not served has
// no objects.
func (g *gathering) each(ctx context.Context, gvk schema.GroupVersionKind, which object.Selection, fields string, keep func(*unstructured.Unstructured) bool) {
	err := g.reader.Select(ctx, gvk, which, fields, func(u *unstructured.Unstructured) {
		if keep(u) {
			g.add(u)
		}
	})
	if err != nil && !notServed(err) {
		g.failed(object.Ref{GVK: gvk, Namespace: which.Namespace}, err)
	}
}

// failed notes what could not be read. Where time is over it is unknown as well: no
// rule may take it for absent.
func (g *gathering) failed(r object.Ref, err error) {
	g.note(func(f *Facts) {
		for _, known := range f.Unread {
			if known.Ref == r {
				return
			}
		}
		f.Unread = append(f.Unread, Unread{Ref: r, Err: err})
	})
}

// add puts an object into the facts, once, without what no rule reads.
func (g *gathering) add(u *unstructured.Unstructured) {
	u.SetManagedFields(nil)
	if annotations := u.GetAnnotations(); annotations != nil {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		u.SetAnnotations(annotations)
	}
	g.note(func(f *Facts) {
		if uid := string(u.GetUID()); uid != "" {
			if g.uids[uid] {
				return
			}
			g.uids[uid] = true
		}
		f.Others = append(f.Others, u)
	})
}

func (g *gathering) note(change func(*Facts)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(&g.facts)
}

func (g *gathering) namespace(ctx context.Context, namespace string) {
	if namespace != "" {
		g.read(ctx, ref(core("Namespace"), "", namespace))
	}
}

// subject reads what an object's readiness rests on.
func (g *gathering) subject(ctx context.Context, u *unstructured.Unstructured) {
	switch u.GroupVersionKind().GroupKind() {
	case core("Pod").GroupKind():
		g.details(ctx, []*unstructured.Unstructured{u})
	case apps("Deployment").GroupKind():
		g.deployment(ctx, u)
	case apps("ReplicaSet").GroupKind(), core("ReplicationController").GroupKind(), apps("StatefulSet").GroupKind(),
		apps("DaemonSet").GroupKind(), batch("Job").GroupKind():
		g.workload(ctx, u)
	case batch("CronJob").GroupKind():
		g.cronJob(ctx, u)
	case core("PersistentVolumeClaim").GroupKind():
		g.claim(ctx, u)
	case core("Service").GroupKind():
		g.service(ctx, u)
	case networking("Ingress").GroupKind():
		g.ingress(ctx, u)
	case definition().GroupKind():
		g.definition(ctx, u)
	case apiService().GroupKind():
		g.apiService(ctx, u)
	case autoscaler().GroupKind():
		g.autoscaler(ctx, u)
	case core("Namespace").GroupKind():
	default:
		g.custom(ctx, u)
	}
}
