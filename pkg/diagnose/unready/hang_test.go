package unready_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// scene is a cluster in virtual time. Its contents change while a wait runs.
type scene struct {
	mu     sync.Mutex
	reader *teller
	live   *unstructured.Unstructured
	report func(object.Change)
	began  time.Time
	// own contains the times of requests about namespaced objects, except for warnings. all
	// contains the times of all requests.
	own, all []time.Time
}

// now returns the time in the cluster, which starts at that of the stories.
func (s *scene) now() time.Time { return diagnosetest.Now().Add(time.Since(s.began)) }

// show replaces the contents of the cluster. If the object has changed, the watch reports it.
func (s *scene) show(r *teller, live *unstructured.Unstructured) {
	s.mu.Lock()
	s.reader = r
	same := s.live == live
	s.live = live
	report := s.report
	s.mu.Unlock()
	if !same && report != nil {
		report(object.Present{Object: live.DeepCopy()})
	}
}

func (s *scene) asked(gvk schema.GroupVersionKind, namespace string) *teller {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, time.Now())
	if namespace != "" && gvk.Kind != "Event" {
		s.own = append(s.own, time.Now())
	}
	return s.reader
}

func (s *scene) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	return s.asked(gvk, namespace).Get(ctx, gvk, namespace, name)
}

func (s *scene) Exists(ctx context.Context, ref object.Ref) (bool, error) {
	return s.asked(ref.GVK, ref.Namespace).Exists(ctx, ref)
}

func (s *scene) Select(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection, fields string, visit func(*unstructured.Unstructured)) error {
	return s.asked(gvk, sel.Namespace).Select(ctx, gvk, sel, fields, visit)
}

func (s *scene) Metadata(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection) ([]unstructured.Unstructured, error) {
	return s.asked(gvk, sel.Namespace).Metadata(ctx, gvk, sel)
}

func (s *scene) Kinds(ctx context.Context) ([]object.Kind, error) {
	return s.asked(schema.GroupVersionKind{}, "").Kinds(ctx)
}

func (s *scene) DryRunRemoveFinalizer(context.Context, object.Ref, *unstructured.Unstructured, string) error {
	return nil
}

func (s *scene) Allowed(ctx context.Context, user, verb string, ref object.Ref) (bool, error) {
	return s.asked(ref.GVK, ref.Namespace).Allowed(ctx, user, verb, ref)
}

func (s *scene) Resource(context.Context, string) (object.Kind, error) { panic("the kind is known") }

func (s *scene) Schema(context.Context, object.Kind) (*spec.Schema, error) { return nil, nil }

func (s *scene) Watch(ctx context.Context, _ object.Kind, _ object.Selection, report func(object.Change)) error {
	s.mu.Lock()
	s.report = report
	live := s.live
	s.mu.Unlock()
	if live != nil {
		report(object.Present{Object: live.DeepCopy()})
	}
	report(object.Synced{})
	<-ctx.Done()
	return context.Cause(ctx)
}

// reported is a report of a wait, with its time.
type reported struct {
	at time.Duration
	event.Stalled
}

// heard is everything that a wait in a scene has reported and returned.
type heard struct {
	stalled []reported
	waited  event.Waited
	after   time.Duration
	err     error
}

// wait waits in virtual time for a condition that never becomes true.
func (s *scene) wait(t *testing.T, ref object.Ref, timeout time.Duration, endsFor func(event.Cause) time.Duration, happens func()) heard {
	t.Helper()
	never, err := condition.Parse("condition=NeverToCome")
	if err != nil {
		t.Fatal(err)
	}
	return s.waitFor(t, ref, never, timeout, endsFor, happens)
}

func (s *scene) waitFor(t *testing.T, ref object.Ref, goal condition.Spec, timeout time.Duration, endsFor func(event.Cause) time.Duration, happens func()) heard {
	t.Helper()
	var out heard
	synctest.Test(t, func(t *testing.T) {
		s.began = time.Now()
		explainer := unready.Explainer{Reader: s, Now: s.now}
		engine := wait.Engine{
			Source: s, Timeout: timeout, StuckAfter: 15 * time.Second, Complains: unready.Complains, EndsFor: endsFor,
			Explain: func(ctx context.Context, objects []wait.Stalled) wait.Explanations {
				var asked []unready.Asked
				for _, o := range objects {
					asked = append(asked, unready.Asked{Ref: o.Ref, Moved: o.Moved, Fresh: o.Fresh})
				}
				before := len(s.all)
				causes, cost := explainer.Explain(ctx, asked)
				if sent := len(s.all) - before; sent != cost.Own+cost.Shared {
					t.Errorf("%d requests were sent, but the cost is %+v", sent, cost)
				}
				return wait.Explanations{Causes: causes, Requests: []int{cost.Own}, Shared: cost.Shared, Again: cost.Again}
			},
			Emit: func(e event.Event) {
				switch e := e.(type) {
				case event.Stalled:
					out.stalled = append(out.stalled, reported{time.Since(s.began), e})
				case event.Waited:
					out.waited = e
				}
			},
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if happens != nil {
				happens()
			}
		}()
		kind := object.Kind{GVK: ref.GVK, Resource: strings.ToLower(ref.GVK.Kind) + "s", Namespaced: ref.Namespace != ""}
		out.err = engine.Run(t.Context(), []wait.Target{{
			Selection: object.Selection{Namespace: ref.Namespace, Name: ref.Name}, Kind: kind, Type: kind.Resource,
			Goal: &wait.Goal{For: []condition.Spec{goal}},
		}})
		out.after = time.Since(s.began)
		<-done
	})
	return out
}

// soon is the time within which a fault must be reported.
const soon = 20 * time.Second

// hangs runs a wait in a scene. The facts of a story appear at one moment, and nothing changes
// after that.
func (s story) hangs(t *testing.T, causes []event.Cause) {
	t.Helper()
	const from, timeout = 7 * time.Second, 6 * time.Minute
	r := s.teller(t)
	live := r.Objects[0]
	scene := &scene{reader: &teller{}}
	out := scene.wait(t, object.RefOf(live), timeout, nil, func() {
		time.Sleep(from)
		scene.show(r, live)
	})
	scene.reportsOnce(t, out, codesOf(causes), from)
	scene.bounded(t)
	if got, want := codesOf(out.waited.Causes), codesOf(causes); got != want {
		t.Errorf("at the end, the wait reports %q, want %q", got, want)
	}
}

// reportsOnce checks that causes are reported soon after they appear, and are not reported again.
func (s *scene) reportsOnce(t *testing.T, out heard, codes string, from time.Duration) {
	t.Helper()
	if len(out.stalled) == 0 {
		t.Fatalf("%q is never reported", codes)
	}
	var last string
	var at time.Duration
	for _, one := range out.stalled {
		now := codesOf(one.Causes)
		if now == last {
			t.Errorf("%q is reported twice, after %s and %s", now, at, one.at)
		}
		last, at = now, one.at
	}
	if last != codes || at < from || at > from+soon {
		t.Errorf("after %s, got %q; want %q, within %s after %s", at, last, codes, soon, from)
	}
}

// bounded checks the number of requests about an object: at most ten in a minute, plus ten that may
// be sent at once, and the excess of the most expensive examination. The requests of the whole run
// have a similar limit.
func (s *scene) bounded(t *testing.T) {
	t.Helper()
	for _, bound := range []struct {
		what    string
		at      []time.Time
		aMinute float64
	}{{"about the object", s.own, 10}, {"in all", s.all, 240}} {
		dearest := 0
		for i := 0; i < len(bound.at); {
			n := i
			for n < len(bound.at) && bound.at[n].Equal(bound.at[i]) {
				n++
			}
			dearest, i = max(dearest, n-i), n
		}
		for i := range bound.at {
			for n := i; n < len(bound.at); n++ {
				most := bound.aMinute*(1+bound.at[n].Sub(bound.at[i]).Minutes()) + float64(dearest)
				if float64(n-i+1) > most {
					t.Fatalf("too many requests: %d %s in %s", n-i+1, bound.what, bound.at[n].Sub(bound.at[i]))
				}
			}
		}
	}
}

// codesOf returns the properties in which causes differ for a wait.
func codesOf(causes []event.Cause) string {
	var codes []string
	for _, c := range causes {
		codes = append(codes, strings.TrimSpace(c.Code+" "+c.BlockedBy.String()))
	}
	return strings.Join(codes, ", ")
}

// A fault may appear below an object that has been stuck for a long time and does not change. It is
// reported as soon as a fault that exists from the beginning.
func TestLateFaultIsReportedSoon(t *testing.T) {
	pod := func(state string) string {
		return `{phase: Pending, containerStatuses: [{name: app, state: {waiting: ` + state + `}}]}`
	}
	const app = `{nodeName: node-1, containers: [{name: app, image: "registry.example/app:1"}]}`
	for _, from := range []time.Duration{15, 16, 22, 31, 47, 60, 61, 75, 100, 133} {
		from *= time.Second
		t.Run(from.String(), func(t *testing.T) {
			live, before := web(t, 3, app, pod("{reason: ContainerCreating}"))
			_, after := web(t, 3, app, pod("{reason: InvalidImageName}"))
			scene := &scene{reader: &teller{Memory: diagnosetest.Memory{Objects: append(before, live)}}, live: live}
			out := scene.wait(t, object.RefOf(live), 6*time.Minute, nil, func() {
				time.Sleep(from)
				scene.show(&teller{Memory: diagnosetest.Memory{Objects: append(after, live)}}, live)
			})
			scene.reportsOnce(t, out, "ImageNameInvalid", from)
			scene.bounded(t)
		})
	}
}

// If a wait is interrupted, it reports what it knows at once, and sends no more requests.
func TestInterruptedWaitReportsKnownCauses(t *testing.T) {
	live, others := web(t, 1, `{nodeName: node-1, containers: [{name: app, envFrom: [{secretRef: {name: keys}}]}]}`,
		`{phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: CreateContainerConfigError}}}]}`)
	s := &scene{reader: &teller{Memory: diagnosetest.Memory{Objects: append(others, live)}, absent: []string{"Secret/prod/keys"}}, live: live}
	before := 0
	out := s.wait(t, object.RefOf(live), 50*time.Second, nil, func() {
		time.Sleep(49 * time.Second)
		s.mu.Lock()
		defer s.mu.Unlock()
		before = len(s.all)
	})
	if got := codesOf(out.waited.Causes); got != "SecretMissing secret/keys -n prod" || out.after > 51*time.Second || len(s.all) > before {
		t.Errorf("ended after %s with %d more requests and causes %s", out.after, len(s.all)-before, got)
	}
}

// Lastings has the same codes as docs/unready.md.
func TestLastingsMatchDocumentation(t *testing.T) {
	want := listed(t)
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(unready.Lastings())); !slices.Equal(got, slices.Compact(want)) {
		t.Errorf("Lastings has %q, docs/unready.md has %q", got, want)
	}
	for _, code := range slices.Sorted(maps.Keys(unready.Lastings())) {
		if l := unready.Lastings()[code]; l.After < 15*time.Second || l.After >= 5*time.Minute {
			t.Errorf("%s: %+v", code, l)
		}
	}
}
