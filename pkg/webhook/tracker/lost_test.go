package tracker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// forgetful is a server with one object. It has lost parts of its history, and does not support
// streamed lists.
type forgetful struct {
	metadata.Interface
	metadata.ResourceInterface
	version string // at which it is
	// exact is the answer to a request for a former state, and watched the answer to a watch of the
	// changes since then.
	exact, watched *apierrors.StatusError
	// single is the answer to a request for a former state of one object.
	single *apierrors.StatusError
	// first is the answer to the first such request.
	first *apierrors.StatusError
	// away is the time until which the server does not answer.
	away time.Time
}

func (s *forgetful) answers() error {
	if time.Now().Before(s.away) {
		return errors.New("connection refused")
	}
	return nil
}

func (s *forgetful) Resource(schema.GroupVersionResource) metadata.Getter { return forgetfulGetter{s} }

type forgetfulGetter struct{ *forgetful }

func (s forgetfulGetter) Namespace(string) metadata.ResourceInterface { return s.forgetful }

func (s *forgetful) List(_ context.Context, opts metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	if err := s.answers(); err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{Items: []metav1.PartialObjectMetadata{*fields("a", 5, "argo")}}
	list.ResourceVersion = s.version
	if opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		list.ResourceVersion = opts.ResourceVersion
		if s.exact != nil {
			return nil, s.exact
		}
		switch opts.FieldSelector {
		case "metadata.name=b":
			if err := s.first; err != nil {
				s.first = nil
				return nil, err
			}
			if list.Items = nil; opts.ResourceVersion == "8" {
				list.Items = append(list.Items, *fields("b", 8, "argo"))
			} else if s.single != nil {
				return nil, s.single
			}
		case "metadata.name=a":
			return nil, errors.New("nothing of this object is missing")
		}
		return list, nil
	}
	list.Items = append(list.Items, *fields("b", 8, "argo"))
	return list, nil
}

func (s *forgetful) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	if err := s.answers(); err != nil {
		return nil, err
	}
	if opts.SendInitialEvents != nil {
		return nil, apierrors.NewBadRequest("no streams here")
	}
	w := watch.NewFake()
	go func() {
		defer w.Stop()
		if err := s.watched; err != nil { // once
			s.watched = nil
			w.Error(&err.ErrStatus)
			return
		}
		<-ctx.Done()
	}()
	return w, nil
}

// The log says what could not be resumed, where, and what the server answered. When a gap is
// declared, the log has its period. A time before any history is not declared, counted or logged as
// a gap, because that would be a false alarm in a new cluster.
func TestGapIsExplainedInLog(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old resource version: 7 (8)")
	for name, tt := range map[string]struct {
		server *forgetful
		fresh  bool
		want   []string
		gaps   int
	}{
		"the list at the checkpoint is compacted": {
			server: &forgetful{version: "9", exact: expired},
			want:   []string{`"resource"="configmaps" "at"="list" "version"="7"`, "too old resource version: 7 (8)"}, gaps: 1,
		},
		"the history since the checkpoint is compacted": {
			server: &forgetful{version: "9", watched: expired, single: expired},
			want:   []string{`"resource"="configmaps" "at"="watch" "version"="7"`, "too old resource version: 7 (8)"}, gaps: 1,
		},
		"single versions are forbidden at first": {
			server: &forgetful{version: "9", watched: expired, first: apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no rules yet"))},
			want:   []string{`"resource"="configmaps" "at"="watch" "version"="7"`},
		},
		"only single versions can be read": {
			server: &forgetful{version: "9", watched: expired},
			want:   []string{`"resource"="configmaps" "at"="watch" "version"="7"`, "too old resource version: 7 (8)"},
		},
		"the history was reset": {
			server: &forgetful{version: "6"},
			want:   []string{`"resource"="configmaps" "at"="list" "version"="7"`, errUndone.Error()}, gaps: 1,
		},
		"the whole history is available": {server: &forgetful{version: "9"}},
		"first start, without a checkpoint": {
			server: &forgetful{version: "9"}, fresh: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lines []string
				log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
				tr := &Tracker{opts: Options{Metadata: tt.server, Sink: nowhere{}, Log: log}, state: newState(time.Second), lists: make(chan struct{}, 1)}
				promised := position{"7", time.Now().Add(-time.Minute)}
				if tt.fresh {
					promised = position{}
				}
				f := &follower{Tracker: tr, watched: tr.state.add(kind{resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}}, promised)}
				ctx, end := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); f.run(ctx) }()
				time.Sleep(time.Minute)
				tr.state.lead(true, time.Now())
				tr.ready.Store(true)
				if err := tr.gaps(ctx); err != nil {
					t.Fatal(err)
				}
				end()
				<-done
				want := slices.Clone(tt.want)
				if tt.gaps > 0 {
					want = append(want, noHistory)
				}
				text := strings.Join(lines, "\n")
				for _, part := range want {
					if !strings.Contains(text, part) {
						t.Errorf("the log does not contain %s:\n%s", part, text)
					}
				}
				if len(want) == 0 && text != "" {
					t.Errorf("got a log without a gap, want none:\n%s", text)
				}
				for _, g := range tr.state.undeclared.Gaps {
					if a := g.Of.Concerns(f.groupKind(), "a"); a != (tt.server.version == "6") || !g.Of.Concerns(f.groupKind(), "b") {
						t.Errorf("the gap concerns %v", g.Of)
					}
				}
				if got := len(tr.state.undeclared.Gaps); tr.state.counts.gaps != tt.gaps || got != tt.gaps {
					t.Errorf("%d gaps are counted and %d declared, want %d", tr.state.counts.gaps, got, tt.gaps)
				}
			})
		})
	}
}

type noDeletions struct{}

func (noDeletions) Going(ownership.Object, string, []metav1.OwnerReference, []ownership.Holder) {}
func (noDeletions) Gone(_ ownership.Object, _ string, _ time.Time, _ bool, _ []metav1.OwnerReference, _ []ownership.Holder, settled func()) {
	settled()
}
func (noDeletions) Lives(string) {}

// If the state at the checkpoint cannot be read, a list of the current state does not show which
// objects have gone. That time is declared for deletions, and for nothing else. A replica that has
// seen the objects knows which of them are missing, and declares nothing.
func TestUnseenDeletionsAreDeclared(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old resource version: 7 (8)")
	for name, tt := range map[string]struct {
		server   *forgetful
		promised string
		declared bool
	}{
		"the list at the checkpoint is compacted":       {&forgetful{version: "9", exact: expired}, "7", true},
		"the history was reset":                         {&forgetful{version: "6"}, "7", true},
		"the history since the checkpoint is compacted": {&forgetful{version: "9", watched: expired, single: expired}, "7", false},
		"the whole history is available":                {&forgetful{version: "9"}, "7", false},
		"first start, without a checkpoint":             {&forgetful{version: "9"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := &Tracker{opts: Options{Metadata: tt.server, Sink: nowhere{}, Deletions: noDeletions{}}, state: newState(time.Second), lists: make(chan struct{}, 1)}
				promised := position{tt.promised, time.Now().Add(-time.Minute)}
				f := &follower{Tracker: tr, watched: tr.state.add(kind{resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, name: "ConfigMap"}, promised)}
				ctx, end := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); f.run(ctx) }()
				time.Sleep(time.Minute)
				news := tr.state.store(maxNotes, time.Now()).news
				end()
				<-done
				declared := false
				for _, g := range news.Gaps {
					if g.Of.OnlyDeletions() {
						declared = g.Of.ConcernsDeletions(f.groupKind()) && !g.Of.Concerns(f.groupKind(), "") && !g.From.After(promised.Time) && g.To.After(promised.Time)
					}
				}
				if declared != tt.declared {
					t.Errorf("declared: %v, want %v; gaps %v", declared, tt.declared, news.Gaps)
				}
			})
		})
	}
}

// However long the API server was unreachable, everything is listed within seconds of its return.
// The list ends the declared gap.
func TestListAfterOutage(t *testing.T) {
	for _, away := range []time.Duration{0, time.Second, 5 * time.Second, 30 * time.Second, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			server := &forgetful{version: "9", watched: apierrors.NewResourceExpired("too old resource version: 7 (8)"), away: time.Now().Add(away)}
			tr := &Tracker{opts: Options{Metadata: server, Sink: nowhere{}}, state: newState(time.Second), lists: make(chan struct{}, 1)}
			f := &follower{Tracker: tr, watched: tr.state.add(kind{resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}}, position{"7", time.Now()})}
			ctx, end := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); f.run(ctx) }()
			for f.position().Version != "9" {
				time.Sleep(10 * time.Millisecond)
			}
			if late := time.Since(server.away); late > 2*time.Second {
				t.Errorf("unreachable for %s: listed %s after the server was back", away, late)
			}
			end()
			<-done
		})
	}
}

// The log has one line for each reason for which changes were dropped. The line covers the whole
// time, however many changes there were.
func TestManyGapsAreLoggedOnce(t *testing.T) {
	s := begin(position{"9", noon})
	s.resume(s.w)
	for n := range 100 {
		s.take(s.onObject(s.w, fields(fmt.Sprint("o", n), 5, "argo"), true, s.now))
	}
	s.resumed(s.w)
	s.lead(true, s.now)
	for n := range 100 {
		s.change(fmt.Sprint("o", n), 10+n, "flux")
		s.wait(grace)
	}
	for _, m := range s.given {
		s.end(m, ownership.OutcomeLost)
	}
	gaps, _ := s.openGaps()
	all := summarize(gaps)
	if len(all) != 1 || all[0].changes != 100 || all[0].why != noCapacity || !all[0].from.Equal(noon) || !all[0].to.Equal(noon.Add(99*grace)) {
		t.Errorf("%d gaps are reported as %+v", len(gaps), all)
	}
}
