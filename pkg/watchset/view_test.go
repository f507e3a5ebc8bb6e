package watchset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

var configMaps = object.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Resource: "configmaps", Namespaced: true}

// watch is the script of one watch: the changes that it reports, and the error with which it ends;
// nil if it does not end.
type watch struct {
	reports []object.Change
	ends    error
}

// script is a Watcher that plays scripted watches in order. It repeats the last one.
type script struct {
	watches []watch
	asked   []object.Selection
}

func (s *script) Watch(ctx context.Context, _ object.Kind, sel object.Selection, report func(object.Change)) error {
	s.asked = append(s.asked, sel)
	w := s.watches[min(len(s.asked), len(s.watches))-1]
	for _, change := range w.reports {
		report(change)
	}
	if w.ends != nil {
		return w.ends
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

func there(name, uid string) object.Change { return object.Present{Object: config(name, uid)} }

func gone(name, uid string) object.Change { return object.Gone{Object: config(name, uid)} }

func config(name, uid string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetNamespace("prod")
	u.SetName(name)
	u.SetUID(types.UID(uid))
	return u
}

// say formats a change.
func say(change object.Change) string {
	switch c := change.(type) {
	case object.Present:
		return fmt.Sprintf("%s/%s %s", c.Object.GetNamespace(), c.Object.GetName(), c.Object.GetUID())
	case object.Gone:
		return fmt.Sprintf("%s/%s %s gone", c.Object.GetNamespace(), c.Object.GetName(), c.Object.GetUID())
	case object.Unreadable:
		return "cannot see"
	}
	return "synced"
}

var (
	synced  = object.Synced{}
	blind   = object.Unreadable{Err: errors.New("no route")}
	trouble = apierrors.NewInternalError(errors.New("no"))
	refused = apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
	missing = &meta.NoKindMatchError{GroupKind: configMaps.GVK.GroupKind()}
)

// errUnreported is the error for a kind whose absence only a proxy reports, and not the server behind
// it.
var errUnreported = fmt.Errorf("%w: %w", missing, unreachableError{})

type unreachableError struct{}

func (unreachableError) Error() string     { return "/apis was not found" }
func (unreachableError) Unreachable() bool { return true }

func TestFollow(t *testing.T) {
	for name, tt := range map[string]struct {
		names    []string
		patience time.Duration
		watches  []watch
		want     []string
		err      error
	}{
		"a missing name is reported before Synced": {
			[]string{"a", "b"},
			0,
			[]watch{{[]object.Change{there("a", "1"), synced, there("b", "2")}, refused}},
			[]string{"prod/a 1", "prod/b  gone", "synced", "prod/b 2"},
			refused,
		},
		"a missing name is reported once, however often the watch lists": {
			[]string{"a"},
			0,
			[]watch{{[]object.Change{synced, synced}, refused}},
			[]string{"prod/a  gone", "synced", "synced"},
			refused,
		},
		"an object deleted between two watches is reported as gone": {
			nil, time.Minute,
			[]watch{{[]object.Change{there("a", "1"), there("b", "2"), synced}, trouble}, {[]object.Change{there("b", "2"), synced}, refused}},
			[]string{"prod/a 1", "prod/b 2", "synced", "cannot see", "prod/b 2", "prod/a 1 gone", "synced"},
			refused,
		},
		"a deletion is reported only once": {
			nil, time.Minute,
			[]watch{{[]object.Change{there("a", "1"), synced, gone("a", "1")}, trouble}, {[]object.Change{synced}, refused}},
			[]string{"prod/a 1", "synced", "prod/a 1 gone", "cannot see", "synced"},
			refused,
		},
		"a watch without a list reports no deletion": {
			[]string{"a"},
			time.Minute,
			[]watch{{[]object.Change{there("a", "1"), synced}, trouble}, {nil, refused}},
			[]string{"prod/a 1", "synced", "cannot see"},
			refused,
		},
		"without Patience, an error ends the view": {
			nil, 0, []watch{{[]object.Change{synced}, trouble}}, []string{"synced"}, trouble,
		},
		"a kind that is missing once is not reported": {
			nil, time.Minute,
			[]watch{{nil, missing}, {[]object.Change{synced}, trouble}, {nil, missing}, {nil, missing}},
			[]string{"synced", "cannot see"},
			missing,
		},
		"an error of discovery does not make a kind missing": {
			nil, time.Minute,
			[]watch{{[]object.Change{synced}, trouble}, {nil, errUnreported}, {nil, errUnreported}, {nil, missing}, {nil, errUnreported}, {[]object.Change{synced}, refused}},
			[]string{"synced", "cannot see", "cannot see", "cannot see", "cannot see", "synced"},
			refused,
		},
		"without Patience, a missing kind ends the view": {nil, 0, []watch{{nil, missing}}, nil, missing},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &View{
					Server: &script{watches: tt.watches}, Kind: configMaps, Names: tt.names, Patience: tt.patience,
					Selection: object.Selection{Namespace: "prod"},
				}
				var reported []string
				err := v.Follow(t.Context(), func(c object.Change) { reported = append(reported, say(c)) })
				if diff := cmp.Diff(tt.want, reported); diff != "" || !errors.Is(err, tt.err) {
					t.Errorf("%v\n%s", err, diff)
				}
			})
		})
	}
}

// Edge case 57: a view ends once reads have only failed for as long as its Patience. If the view
// sees something in between, the period starts again.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seeing := watch{[]object.Change{synced}, trouble}
		s := &script{watches: []watch{seeing, {ends: trouble}, seeing, {[]object.Change{blind, blind}, nil}}}
		v := &View{Server: s, Kind: configMaps, Patience: 5 * time.Minute}
		began := time.Now()
		err := v.Follow(t.Context(), func(object.Change) {})
		var given *BlindError
		if !errors.As(err, &given) || given.Failures != 3 || !errors.Is(err, blind.Err) {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took < 5*time.Minute || took > 6*time.Minute {
			t.Errorf("after %s", took)
		}
	})
}

// Before the first list, only First decides how long to retry. After the first list, Patience
// applies.
func TestFirstWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := &script{watches: []watch{{ends: missing}, {ends: trouble}}}
		v := &View{Server: &script{}, First: never, Kind: configMaps, Patience: time.Hour}
		if err := v.Follow(t.Context(), func(object.Change) {}); !errors.Is(err, trouble) || len(never.asked) != 2 {
			t.Errorf("%d requests, then %v", len(never.asked), err)
		}
		once := &script{watches: []watch{{[]object.Change{synced}, trouble}}}
		patient := &script{watches: []watch{{ends: trouble}, {ends: refused}}}
		v = &View{Server: patient, First: once, Kind: configMaps, Patience: time.Hour}
		if err := v.Follow(t.Context(), func(object.Change) {}); !errors.Is(err, refused) || len(once.asked) != 1 || len(patient.asked) != 2 {
			t.Errorf("%d requests to First, %d to Server, then %v", len(once.asked), len(patient.asked), err)
		}
	})
}

// A view that never succeeded with a list ends after Search if that is shorter than Patience. It
// also ends when First gives up.
func TestSearch(t *testing.T) {
	for name, test := range map[string]struct {
		view    *View
		watches []watch
		took    time.Duration
	}{
		"before the first list":             {&View{Search: time.Minute}, []watch{{[]object.Change{blind}, nil}}, time.Minute},
		"after the first list":              {&View{Search: time.Minute}, []watch{{[]object.Change{synced, blind}, nil}}, time.Hour},
		"longer than Patience":              {&View{Search: 2 * time.Hour}, []watch{{[]object.Change{blind}, nil}}, time.Hour},
		"First gives up":                    {&View{First: slow{2 * time.Hour}}, nil, 2 * time.Hour},
		"Search ends before First gives up": {&View{Search: time.Minute, First: slow{2 * time.Hour}}, nil, time.Minute},
		"First gives up before Search ends": {&View{Search: time.Minute, First: slow{time.Second}}, nil, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := test.view
				v.Server, v.Kind, v.Patience = &script{watches: test.watches}, configMaps, time.Hour
				began := time.Now()
				err := v.Follow(t.Context(), func(object.Change) {})
				if took := time.Since(began); err == nil || took != test.took {
					t.Errorf("%v after %s, want it after %s", err, took, test.took)
				}
			})
		})
	}
}

// slow is a Watcher that reports nothing, and returns an error after a while.
type slow struct{ gives time.Duration }

func (s slow) Watch(ctx context.Context, _ object.Kind, _ object.Selection, report func(object.Change)) error {
	report(blind)
	select {
	case <-time.After(s.gives):
		return trouble
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		enough := errors.New("enough")
		for _, w := range []watch{{}, {ends: trouble}} {
			ctx, end := context.WithCancelCause(t.Context())
			time.AfterFunc(30*time.Second, func() { end(enough) })
			v := &View{Server: &script{watches: []watch{w}}, Kind: configMaps, Patience: time.Hour}
			if err := v.Follow(ctx, func(object.Change) {}); !errors.Is(err, enough) {
				t.Error(err)
			}
		}
	})
}

func TestViewList(t *testing.T) {
	s := &script{watches: []watch{{[]object.Change{there("a", "1"), synced, there("later", "3")}, nil}}}
	v := &View{Server: s, Kind: configMaps, Names: []string{"a", "b"}, Selection: object.Selection{Namespace: "prod"}}
	var reported []string
	if err := v.List(t.Context(), func(c object.Change) { reported = append(reported, say(c)) }); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"prod/a 1", "prod/b  gone", "synced"}, reported); diff != "" {
		t.Error(diff)
	}
	v.Server = &script{watches: []watch{{ends: missing}}}
	if err := v.List(t.Context(), func(object.Change) {}); !meta.IsNoMatchError(err) {
		t.Error(err)
	}
}

// Edge case 50: a user who may not list watches each object by name.
func TestSplit(t *testing.T) {
	v := &View{Kind: configMaps, Names: []string{"a", "b"}, Selection: object.Selection{Namespace: "prod"}, Patience: time.Hour, Search: time.Minute}
	var got []object.Selection
	for _, part := range v.Split(refused) {
		got = append(got, part.selection())
		if part.Patience != v.Patience || part.Search != v.Search {
			t.Errorf("%s has Search %s and Patience %s", part.Names, part.Search, part.Patience)
		}
	}
	if want := []object.Selection{{Namespace: "prod", Name: "a"}, {Namespace: "prod", Name: "b"}}; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if v.Split(trouble) != nil || (&View{Names: []string{"a"}}).Split(refused) != nil || (&View{}).Split(refused) != nil {
		t.Error("Split() succeeded, want nil if it does not help")
	}
}

// The selection of a watch is as narrow as possible.
func TestSelection(t *testing.T) {
	nodes := object.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Node"}, Resource: "nodes"}
	in := object.Selection{Namespace: "prod"}
	for _, tt := range []struct {
		view *View
		want object.Selection
	}{
		{&View{Kind: configMaps, Selection: in, Names: []string{"a"}}, object.Selection{Namespace: "prod", Name: "a"}},
		{&View{Kind: configMaps, Selection: in, Names: []string{"a", "b"}}, in},
		{&View{Kind: nodes, Selection: in, Names: []string{"a"}}, object.Selection{Name: "a"}},
	} {
		if got := tt.view.selection(); got != tt.want {
			t.Errorf("%+v, want %+v", got, tt.want)
		}
	}
}
