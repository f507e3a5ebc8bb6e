package templates_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/templates"
)

// store has the records by name. Its first writes fail.
type store struct {
	records map[string]*ownership.Record
	failing int
}

var ofRecords = schema.GroupResource{Group: ownership.RecordGroup, Resource: ownership.RecordPlural}

func (s *store) Get(_ context.Context, _, name string) (*ownership.Record, error) {
	if r, ok := s.records[name]; ok {
		return r.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(ofRecords, name)
}

func (s *store) Create(_ context.Context, r *ownership.Record) error {
	if s.failing > 0 {
		s.failing--
		return apierrors.NewConflict(ofRecords, r.Name, errors.New("written by another replica"))
	}
	s.records[r.Name] = r.DeepCopy()
	return nil
}

func (s *store) Update(ctx context.Context, r *ownership.Record) error { return s.Create(ctx, r) }

// A write is recorded once the version that directly follows the one that admission saw shows it. A
// refused write is not, although a later write makes the same change.
func TestCommitted(t *testing.T) {
	web := ownership.Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "web"}
	type hint struct {
		user, version string
		generation    int64
		after         string
	}
	type committed struct {
		before     string
		generation int64
	}
	tests := map[string]struct {
		hints     []hint
		committed []committed
		failing   int
		want      []string
	}{
		"a write":                                {hints: []hint{{"jane", "1", 2, "b"}}, committed: []committed{{"1", 2}}, want: []string{"jane a>b"}},
		"two writes":                             {hints: []hint{{"jane", "1", 2, "b"}, {"joe", "2", 3, "c"}}, committed: []committed{{"1", 2}, {"2", 3}}, want: []string{"jane a>b", "joe a>c"}},
		"refused":                                {hints: []hint{{"jane", "1", 2, "b"}}},
		"refused, and a write of something else": {hints: []hint{{"jane", "1", 2, "b"}}, committed: []committed{{"1", 1}, {"2", 2}}},
		"refused, and another user's write":      {hints: []hint{{"jane", "1", 2, "b"}, {"joe", "2", 2, "b"}}, committed: []committed{{"1", 1}, {"2", 2}}, want: []string{"joe a>b"}},
		"two users at once":                      {hints: []hint{{"jane", "1", 2, "b"}, {"joe", "1", 2, "b"}}, committed: []committed{{"1", 2}}},
		"one user at once":                       {hints: []hint{{"jane", "1", 2, "b"}, {"jane", "1", 2, "b"}}, committed: []committed{{"1", 2}}, want: []string{"jane a>b"}},
		"one user, two templates":                {hints: []hint{{"jane", "1", 2, "b"}, {"jane", "1", 2, "c"}}, committed: []committed{{"1", 2}}},
		"a write fails at first":                 {hints: []hint{{"jane", "1", 2, "b"}}, committed: []committed{{"1", 2}}, failing: 7, want: []string{"jane a>b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &store{records: map[string]*ownership.Record{}, failing: tt.failing}
				r := templates.New(s, slog.New(slog.DiscardHandler))
				ctx, end := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- r.Run(ctx) }()
				for _, h := range tt.hints {
					ok := r.Hint(ownership.RolloutHint{
						Rollout: ownership.NewRollout(time.Now(), h.user, ownership.Holder{}, "a", h.after), UID: "web", ResourceVersion: h.version, Generation: h.generation,
					})
					if !ok {
						t.Error("not accepted")
					}
				}
				for _, c := range tt.committed {
					r.Committed(web, c.before, c.generation)
				}
				time.Sleep(10 * time.Second)
				end()
				if err := <-done; err != nil {
					t.Error(err)
				}
				var got []string
				for _, record := range s.records {
					for _, one := range record.Rollouts {
						got = append(got, fmt.Sprintf("%s %s>%s", one.User, one.Before, one.After))
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("recorded (-want +got):\n%s", diff)
				}
			})
		})
	}
}
