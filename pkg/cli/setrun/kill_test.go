package setrun

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// world is a model of a cluster: names, labels and one parent. It does not merge fields,
// because field ownership is not under test here.
type world struct {
	object.Deleter    // of a history
	object.LiveReader // of a prune

	// mu is held while a request is answered, because kinds are listed concurrently.
	mu      sync.Mutex
	parent  *unstructured.Unstructured
	members map[object.Key]string // whose each object is
	calls   int
	// versions counts the versions of the parent.
	versions int
	killAt   int // 0 for never
	// joinAt is the call at which another tool, which does not use the lock, adds a member; 0 for
	// never.
	joinAt int
	// goneAt is the call at which a user deletes the parent; 0 for never. From then on, no parent
	// covers the members.
	goneAt int
	// message lists the warnings.
	message []string
	t       *testing.T
}

// afterwards is the value of goneAt in the run after the one in which the parent was deleted.
const afterwards = -1

var errKilled = errors.New("killed")

// step marks a moment at which the run may be killed. At each such moment, the promise must cover
// all members.
func (w *world) step() error {
	w.calls++
	if w.calls == w.joinAt && w.parent != nil {
		w.joins()
	}
	if w.calls == w.killAt {
		return errKilled
	}
	if w.calls == w.goneAt {
		w.parent = nil
	}
	if w.goneAt != 0 {
		return nil
	}
	notes := map[string]string{}
	if w.parent != nil {
		notes = w.parent.GetAnnotations()
	}
	for key, owner := range w.members {
		kinds := "," + notes["applyset.kubernetes.io/contains-group-kinds"] + ","
		spaces := ",home," + notes["applyset.kubernetes.io/additional-namespaces"] + ","
		if owner == "us" && (!strings.Contains(kinds, ","+key.Kind+",") || !strings.Contains(spaces, ","+key.Namespace+",")) {
			w.t.Fatalf("%v is a member, but the parent does not promise it: kinds %s namespaces %s", key, kinds, spaces)
		}
	}
	return nil
}

// joins acts as kubectl does: it adds a kind to the promise, and then makes an object of the kind a
// member.
func (w *world) joins() {
	const kind = "Z"
	notes := w.parent.GetAnnotations()
	kinds := strings.Split(notes[applyset.KindsAnnotation], ",")
	if !slices.Contains(kinds, kind) {
		kinds = append(kinds, kind)
	}
	notes[applyset.KindsAnnotation] = strings.Trim(strings.Join(kinds, ","), ",")
	w.parent.SetAnnotations(notes)
	w.written()
	w.members[object.Key{Kind: kind, Namespace: "home", Name: "joined"}] = "us"
}

// written gives the parent a new version.
func (w *world) written() {
	w.versions++
	w.parent.SetResourceVersion(fmt.Sprint(w.versions))
}

func kindOf(gvk schema.GroupVersionKind) object.Kind {
	return object.Kind{GVK: gvk, Resource: strings.ToLower(gvk.Kind) + "s", Namespaced: true, Verbs: []string{"get", "list"}}
}

func (w *world) Get(context.Context, object.Kind, object.Ref) (*unstructured.Unstructured, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.step(); err != nil {
		return nil, err
	}
	if w.parent == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "set")
	}
	return w.parent.DeepCopy(), nil
}

func (w *world) Apply(_ context.Context, _ object.Kind, u *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.step(); err != nil {
		return nil, err
	}
	v := u.GetResourceVersion()
	if w.parent != nil && (how.Create || v != "" && v != w.parent.GetResourceVersion()) || w.parent == nil && v != "" {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "set", errors.New("it has changed"))
	}
	w.parent = u.DeepCopy()
	w.written()
	return w.parent.DeepCopy(), nil
}

func (w *world) Resource(context.Context, string) (object.Kind, error) {
	return kindOf(applyset.ParentKind()), nil
}

func (w *world) Preferred(_ context.Context, gk schema.GroupKind) (object.Kind, error) {
	return kindOf(gk.WithVersion("v1")), nil
}

func (w *world) Kind(_ context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
	return kindOf(gvk), nil
}

func (w *world) Metadata(_ context.Context, kind object.Kind, sel object.Selection, visit func(*unstructured.Unstructured)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.step(); err != nil {
		return err
	}
	for key, owner := range w.members {
		if key.Kind != kind.GVK.Kind || owner != "us" || sel.Namespace != "" && key.Namespace != sel.Namespace {
			continue
		}
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetNamespace(key.Namespace)
		u.SetName(key.Name)
		u.SetUID(types.UID(fmt.Sprint(key)))
		_, id, _ := strings.Cut(sel.Labels, "=")
		u.SetLabels(map[string]string{applyset.PartOfLabel: id})
		visit(u)
	}
	return nil
}

// Contents visits nothing: no object here contains others.
func (w *world) Contents(context.Context, *unstructured.Unstructured, func(*unstructured.Unstructured)) error {
	return nil
}

// run applies an input with prune, as package cli does.
func (w *world) run(input []object.Key) error {
	p := &plan.Plan{Phases: []plan.Phase{{}}}
	for _, key := range input {
		ref := key.Ref()
		ref.GVK.Version = "v1"
		u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": key.Name}}}
		p.Phases[0].Items = append(p.Phases[0].Items, plan.Item{Ref: ref, Object: u, Kind: kindOf(ref.GVK)})
	}
	r := &Run{Server: w, Namespace: "home", Emit: func(e event.Event) {
		if warned, ok := e.(event.Warned); ok {
			w.message = append(w.message, warned.Text)
		}
	}}
	r.Delete = func(_ context.Context, _ *store.Set, d applyset.Decision) ([]applyset.Kept, error) {
		for _, m := range d.Doomed {
			if err := w.step(); err != nil {
				return nil, err
			}
			delete(w.members, m.Ref.Key())
		}
		return nil, w.step()
	}
	ctx := w.t.Context()
	if err := (Options{Name: "set", Prune: true, yes: true}).Begin(ctx, r, p); err != nil {
		return err
	}
	applied := func() error {
		for _, key := range input {
			if err := w.step(); err != nil {
				return err
			}
			w.members[key] = "us"
		}
		return w.step()
	}()
	return r.End(ctx, applied, false)
}

// Edge case 36: a run is killed between any two requests and then repeated. The members are then
// exactly the input. The promise covers every member at each moment, and members of another set
// stay.
func TestKilledAtAnyRequest(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 104))
	pick := func() []object.Key {
		var keys []object.Key
		for i := range rng.IntN(6) {
			keys = append(keys, object.Key{
				Kind: []string{"A", "B", "C"}[rng.IntN(3)], Namespace: []string{"home", "x", "y"}[rng.IntN(3)], Name: fmt.Sprint(i),
			})
		}
		return keys
	}
	for range 300 {
		w := &world{members: map[object.Key]string{{Kind: "A", Namespace: "x", Name: "foreign"}: "them"}, t: t}
		for range 5 {
			input := pick()
			for w.calls, w.killAt = 0, 1+rng.IntN(12); rng.IntN(3) > 0; w.calls, w.killAt = 0, 1+rng.IntN(12) {
				if err := w.run(input); err != nil && !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
			}
			w.calls, w.killAt = 0, 0
			if err := w.run(input); err != nil {
				t.Fatal(err)
			}
			want := map[object.Key]string{{Kind: "A", Namespace: "x", Name: "foreign"}: "them"}
			for _, key := range input {
				want[key] = "us"
			}
			if fmt.Sprint(want) != fmt.Sprint(w.members) {
				t.Fatalf("after a run with %v, the members are %v", input, w.members)
			}
			if promised := w.parent.GetAnnotations()[applyset.KindsAnnotation]; len(input) == 0 && promised != "" {
				t.Fatalf("an empty set promises %s", promised)
			}
		}
	}
}

// At any moment of a run, a tool without our lock, such as kubectl, may add a kind to the promise
// and a member of that kind. No write of the run removes this kind from the promise.
func TestKindAddedByAnotherToolStaysPromised(t *testing.T) {
	for at := 1; ; at++ {
		w := &world{members: map[object.Key]string{}, t: t}
		start := []object.Key{{Kind: "A", Namespace: "home", Name: "a"}, {Kind: "B", Namespace: "x", Name: "b"}, {Kind: "C", Namespace: "y", Name: "c"}}
		if err := w.run(start); err != nil {
			t.Fatal(err)
		}
		w.calls, w.joinAt = 0, at
		// With these inputs, the promise has to grow at the start of the run and shrink at the end.
		if err := w.run([]object.Key{start[0], {Kind: "D", Namespace: "z", Name: "d"}}); err != nil {
			t.Fatal(err)
		}
		if w.calls < at {
			return
		}
		// The next run finds the kind in the promise. No input contains the object, so it is
		// pruned.
		if err := w.run(start[:1]); err != nil {
			t.Fatal(err)
		}
		if len(w.members) != 1 {
			t.Errorf("joined at %d: after the next run, the members are %v", at, w.members)
		}
	}
}

// A user deletes the parent at any moment of a run. If the run succeeds without a parent, it warns
// that the parent is gone. The next run writes the parent again, and the new promise covers every
// member.
func TestParentDeletedMeanwhile(t *testing.T) {
	for at := 1; ; at++ {
		w := &world{members: map[object.Key]string{}, t: t}
		start := []object.Key{{Kind: "A", Namespace: "home", Name: "a"}, {Kind: "B", Namespace: "x", Name: "b"}}
		if err := w.run(start); err != nil {
			t.Fatal(err)
		}
		w.calls, w.goneAt, w.message = 0, at, nil
		err := w.run(start)
		if w.calls < at {
			return
		}
		if reported := strings.Contains(strings.Join(w.message, ""), "was deleted during this run"); w.parent == nil && err == nil && !reported {
			t.Errorf("deleted at %d of %d: the run succeeds and does not warn of the deletion: %q", at, w.calls, w.message)
		}
		w.calls, w.goneAt = 0, afterwards
		if err := w.run(start); err != nil {
			t.Errorf("deleted at %d, run again: %v", at, err)
		}
		if kinds := w.parent.GetAnnotations()[applyset.KindsAnnotation]; kinds != "A,B" {
			t.Errorf("deleted at %d, run again: the parent promises %q", at, kinds)
		}
	}
}
