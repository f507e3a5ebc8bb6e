package tracker

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// broken is a sink whose comparisons fail, as they do without the CRD of records.
type broken struct {
	nowhere
	asked int
}

func (s *broken) Gap(context.Context, func(types.UID) (ownership.Owners, string, bool)) error {
	s.asked++
	return errors.New("not found")
}

// unreadable is a ConfigMap client whose reads fail.
type unreadable struct{ ConfigMaps }

func (unreadable) Get(context.Context, string, metav1.GetOptions) (*corev1.ConfigMap, error) {
	return nil, errors.New("forbidden")
}

// Comparing all records is expensive, so a failed comparison is not repeated every second.
func TestComparisonsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &broken{}
		tracker := &Tracker{
			opts:  Options{Sink: sink, ConfigMaps: unreadable{}, Log: logr.Discard(), StoreEvery: 24 * time.Hour},
			state: newState(0),
		}
		tracker.ready.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		tracker.state.lead(true, time.Now())
		tracker.state.gaps = []*pendingChange{{gap: &gap{blind: true}}}
		tracker.compare(ctx)
		if sink.asked < 10 || sink.asked > 30 {
			t.Errorf("got %d comparisons in an hour, want 10 to 30", sink.asked)
		}
	})
}

// published counts the writes of the published copy, and keeps the last one.
type published struct {
	writes int
	last   map[string]string
}

func (p *published) Apply(_ context.Context, c *applycorev1.ConfigMapApplyConfiguration, _ metav1.ApplyOptions) (*corev1.ConfigMap, error) {
	p.writes++
	p.last = c.Data
	return &corev1.ConfigMap{}, nil
}

// The published copy is written when the scope, the gaps or the backlog change, and otherwise once
// a minute. From the checkpoint, it has only the field heard.
func TestPublish(t *testing.T) {
	public := &published{}
	tracker := &Tracker{opts: Options{Public: public, Namespace: "k8sconnect", Log: logr.Discard()}}
	stored := map[string]string{CoverageKey: "coverage", ScopeKey: "one", CheckpointKey: "resources", SeenKey: "users"}
	var c Coverage
	for i, step := range []struct {
		change func()
		want   int
	}{
		{func() {}, 1},
		{func() {}, 1},
		{func() { c.Behind = &Backlog{Changes: 1} }, 2},
		{func() { c.Behind = &Backlog{Changes: 9} }, 2},
		{func() { c.Add(Gap{Span: Span{noon, noon.Add(time.Minute)}}) }, 3},
		{func() { stored[ScopeKey] = "two" }, 4},
		{func() { tracker.published.at = time.Now().Add(-publishEvery) }, 5},
	} {
		step.change()
		if tracker.publish(t.Context(), c, stored, noon); public.writes != step.want {
			t.Errorf("step %d: %d writes", i, public.writes)
		}
	}
	want := map[string]string{CheckpointKey: `{"heard":"` + noon.Format(time.RFC3339) + `"}`, CoverageKey: "coverage", ScopeKey: "two", NamespaceKey: "k8sconnect"}
	if diff := cmp.Diff(want, public.last); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A gap is compared only for the objects that it concerns. A new leader whose first list of a quiet
// kind is newer than the checkpoint must not compare other kinds, whose changes are being recorded.
func TestOnlyObjectsOfGapsAreCompared(t *testing.T) {
	for name, tt := range map[string]struct {
		gap  func(busy, quiet *watched) *pendingChange
		want []types.UID
	}{
		"everything": {func(_, _ *watched) *pendingChange { return &pendingChange{gap: &gap{blind: true}} }, []types.UID{"a", "b", "c"}},
		"a kind":     {func(_, quiet *watched) *pendingChange { return &pendingChange{watched: quiet, gap: &gap{blind: true}} }, []types.UID{"c"}},
		"an object": {func(busy, _ *watched) *pendingChange {
			return &pendingChange{watched: busy, gap: &gap{blind: true, missed: map[types.UID]bool{"b": true}}}
		}, []types.UID{"b"}},
		"not blindly": {func(busy, _ *watched) *pendingChange { return &pendingChange{watched: busy, gap: &gap{}} }, nil},
	} {
		s := begin(position{"9", noon})
		s.list(9, fields("a", 5, "argo"), fields("b", 5, "argo"))
		quiet := s.add(kind{resource: schema.GroupVersionResource{Version: "v1", Resource: "services"}, name: "Service"}, position{})
		s.take(s.onObject(quiet, fields("c", 5, "argo"), true, noon))
		live := (&Tracker{state: s.state}).liveIn([]*pendingChange{tt.gap(s.w, quiet)})
		var got []types.UID
		for _, uid := range []types.UID{"a", "b", "c", "d"} {
			if _, _, ok := live(uid); ok {
				got = append(got, uid)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v are compared, want %v", name, got, tt.want)
		}
	}
}
