package deletion

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/watchset"
)

// impatient is a watcher that gives up after half a minute without an answer.
type impatient struct {
	*fake
	asked int
}

func (i *impatient) Watch(ctx context.Context, kind object.Kind, sel object.Selection, report func(object.Change)) error {
	i.asked++
	if i.unreadable == nil {
		return i.fake.Watch(ctx, kind, sel, report)
	}
	report(object.Unreadable{Err: i.unreadable})
	select {
	case <-time.After(30 * time.Second):
		return i.unreadable
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// While deletions are in progress, the engine waits for an outage to end: once, and at most for the
// timeout of the objects to find. Before any deletion was requested, it gives up when First does.
// After an outage that lasted too long, it searches for objects only briefly.
func TestSearchTimeDuringOutage(t *testing.T) {
	for name, test := range map[string]struct {
		dry     object.DryRun
		timeout time.Duration
		// blind is set if reads also fail in the first phase.
		blind bool
		took  time.Duration
		// first is the number of requests to First.
		first int
		// left is the remaining time that is reported when b cannot be read.
		left time.Duration
	}{
		"no deletion before the outage":         {blind: true, timeout: time.Hour, took: 30*time.Second + 3*glance, first: 4, left: glance},
		"server-side dry run":                   {dry: object.DryRunServer, timeout: time.Hour, took: 30*time.Second + 2*glance, first: 4},
		"short timeout":                         {timeout: 10 * time.Second, took: 10*time.Second + 2*glance, first: 3, left: 10 * time.Second},
		"long timeout":                          {timeout: time.Hour, took: blindFor + 2*glance, first: 3, left: blindFor},
		"without a limit":                       {timeout: 0, took: blindFor + 2*glance, first: 3, left: blindFor},
		"timeout as long as an outage may last": {timeout: blindFor, took: blindFor + 2*glance, first: 3, left: blindFor},
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
					t.Errorf("it took %s, want %s; %d requests to First, want %d", took, test.took, first.asked, test.first)
				}
				for _, e := range r.events {
					if reported, is := e.(event.Retrying); is && reported.Ref.Name == "b" && reported.Left != test.left {
						t.Errorf("the reported time is %s, want %s", reported.Left, test.left)
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

// If one API does not answer while others do, that is not an outage, and the next API is searched
// with full patience.
func TestOneFailingAPIIsNoOutage(t *testing.T) {
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
			t.Errorf("it took %s, want %s; %d requests to First, want 1", took, 2*blindFor, first.asked)
		}
		same(t, []string{"a deleted", "b unknown", "c deleted", "d unknown"}, r.results())
	})
}

// A view that ends without an answer from the server counts as an outage. A refusal is an answer.
func TestViewErrorsCountAsOutage(t *testing.T) {
	configs := schema.GroupResource{Resource: "configmaps"}
	for name, test := range map[string]struct {
		ended error
		dark  bool
	}{
		"interrupted":                        {nil, false},
		"malformed":                          {errors.New("it is not a list"), true},
		"malformed for long":                 {&watchset.BlindError{Err: errors.New("it is not a list")}, true},
		"an internal error":                  {apierrors.NewInternalError(errors.New("etcd")), true},
		"an API that is down":                {apierrors.NewServiceUnavailable("no endpoints"), true},
		"a busy server":                      {apierrors.NewTooManyRequests("later", 1), true},
		"a late answer":                      {apierrors.NewTimeoutError("etcd", 1), true},
		"unknown whether the kind is served": {fmt.Errorf("no answer: %w", &meta.NoKindMatchError{}), true},
		"forbidden":                          {apierrors.NewForbidden(configs, "", nil), false},
		"unauthorized":                       {apierrors.NewUnauthorized("no such user"), false},
		"not found":                          {apierrors.NewNotFound(configs, ""), false},
		"list not allowed":                   {apierrors.NewMethodNotSupported(configs, "list"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if dark := (&Engine{}).isDark([]*view{{ended: test.ended}}); dark != test.dark {
				t.Errorf("isDark: got %v, want %v", dark, test.dark)
			}
			if (&Engine{}).isDark([]*view{{ended: test.ended}, {synced: true}}) || (&Engine{}).isDark([]*view{{ended: test.ended}, {kindGone: true}}) {
				t.Error("isDark is true although another view was synced")
			}
			refused := apierrors.NewForbidden(configs, "", nil)
			if (&Engine{outlived: true}).isDark([]*view{{ended: test.ended}, {ended: refused}}) {
				t.Error("isDark is true although the server answers another view")
			}
		})
	}
}
