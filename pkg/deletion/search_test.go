package deletion

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// impatient is a watcher that finds what the server finds, and gives up after half a minute
// if that is blind.
type impatient struct {
	*fake
	asked int
}

func (i *impatient) Watch(ctx context.Context, kind object.Kind, sel object.Selection, tell func(object.Change)) error {
	i.asked++
	if i.unreadable == nil {
		return i.fake.Watch(ctx, kind, sel, tell)
	}
	tell(object.Unreadable{Err: i.unreadable})
	select {
	case <-time.After(30 * time.Second):
		return i.unreadable
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// An outage is outlived for the sake of deletions that are under way: for as long as the
// objects that are looked for may take, and once. Without any, every phase is given up as
// soon as the first.
func TestHowLongObjectsAreLookedFor(t *testing.T) {
	for name, test := range map[string]struct {
		dry     object.DryRun
		timeout time.Duration
		// blind is what the first phase meets as well.
		blind bool
		took  time.Duration
		// first is how often who has no patience is asked.
		first int
		// left is what is promised when b cannot be looked for.
		left time.Duration
	}{
		"nothing was deleted":           {blind: true, timeout: time.Hour, took: 4 * 30 * time.Second, first: 4},
		"nothing is deleted":            {dry: object.DryRunServer, timeout: time.Hour, took: 3 * 30 * time.Second, first: 4},
		"a short time":                  {timeout: 10 * time.Second, took: 3 * 10 * time.Second, first: 3, left: 10 * time.Second},
		"a long time":                   {timeout: time.Hour, took: blindFor + 2*30*time.Second, first: 3, left: blindFor},
		"as long as it takes":           {timeout: 0, took: blindFor + 2*30*time.Second, first: 3, left: blindFor},
		"longer than an outage is once": {timeout: blindFor, took: blindFor + 2*30*time.Second, first: 3, left: blindFor},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(config("a"), config("b"), config("c"), config("d"))
				broken := errors.New("it is not a list")
				if test.blind {
					f.unreadable = broken
				}
				f.refuse = func(verb, _ string) error {
					if verb == "delete" {
						f.unreadable = broken // f is locked.
					}
					return nil
				}
				first := &impatient{fake: f}
				e := &Engine{First: first, Wait: true, DryRun: test.dry, Timeout: func(object.Kind) time.Duration { return test.timeout }}
				began := time.Now()
				r := start(t.Context(), e, f, named(configMaps, "a"), named(configMaps, "b"), named(configMaps, "c"), named(configMaps, "d"))
				if took := time.Since(began); took != test.took || first.asked != test.first {
					t.Errorf("it took %s, want %s; asked without patience %d times, want %d", took, test.took, first.asked, test.first)
				}
				for _, e := range r.events {
					if told, is := e.(event.Retrying); is && told.Ref.Name == "b" && told.Left != test.left {
						t.Errorf("it is said that %s are left, and it is %s", told.Left, test.left)
					}
				}
				want := []string{"a deleted", "b unknown", "c unknown", "d unknown"}
				if test.blind {
					want[0] = "a unknown"
				}
				same(t, want, r.results())
			})
		})
	}
}

// An API that is away among others that answer is no outage: the next one may pass.
func TestOneViewThatIsBlindIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(config("a"), config("b"), config("c"), config("d"))
		f.refuse = func(verb, name string) error {
			if verb == "watch" && (name == "prod/b" || name == "prod/d") {
				return errors.New("its API is away")
			}
			return nil
		}
		first := &impatient{fake: f}
		began := time.Now()
		r := start(t.Context(), &Engine{First: first, Wait: true}, f, named(configMaps, "a"), named(configMaps, "b", "c"), named(configMaps, "d"))
		if took := time.Since(began); took != 2*blindFor || first.asked != 1 {
			t.Errorf("it took %s, want %s; asked without patience %d times, want once", took, 2*blindFor, first.asked)
		}
		same(t, []string{"a deleted", "b unknown", "c deleted", "d unknown"}, r.results())
	})
}
