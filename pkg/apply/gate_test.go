package apply

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// Before each phase, the run waits for the objects that the phase needs, and at the end for the
// rest. An object that does not become ready blocks later phases.
func TestWait(t *testing.T) {
	unready := errors.New("not ready")
	for name, tc := range map[string]struct {
		fail   string // the object that does not become ready
		reject string // the object that the server refuses
		dryRun object.DryRun
		waited []string // one entry a call
		want   []string
		err    error
	}{
		"all objects become ready": {
			waited: []string{"a", "b c"},
			want:   []string{"a created", "b created", "c created"},
		},
		"a needed object does not become ready": {
			fail:   "a",
			waited: []string{"a"},
			want:   []string{"a created", "b created", "c skipped"},
			err:    unready,
		},
		"the last object does not become ready": {
			fail:   "c",
			waited: []string{"a", "b c"},
			want:   []string{"a created", "b created", "c created"},
			err:    unready,
		},
		"after a refusal, only needed objects are waited for": {
			reject: "b",
			waited: []string{"a"},
			want:   []string{"a created", "b failed", "c created"},
			err:    &IncompleteError{Outcome{Rejected: 1}},
		},
		"a dry run waits for nothing": {
			dryRun: object.DryRunServer,
			want:   []string{"a created", "b created", "c created"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(refusing(tc.reject))
			r.engine.DryRun = tc.dryRun
			var waited []string
			r.engine.Wait = func(_ context.Context, items []plan.Item) error {
				var names []string
				for _, it := range items {
					names = append(names, it.Name)
				}
				waited = append(waited, strings.Join(names, " "))
				if tc.fail != "" && strings.Contains(waited[len(waited)-1], tc.fail) {
					return unready
				}
				return nil
			}
			a := item(t, "a")
			p := phases([]plan.Item{a, item(t, "b")}, []plan.Item{item(t, "c", a.Key())})
			err := r.engine.Run(t.Context(), p)
			if diff := cmp.Diff(tc.waited, waited); diff != "" {
				t.Errorf("waited: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, r.results()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if (tc.err == nil) != (err == nil) || err != nil && err.Error() != tc.err.Error() {
				t.Errorf("error %v, want %v", err, tc.err)
			}
		})
	}
}

// refusing returns a server that refuses one object.
func refusing(name string) *fake {
	return &fake{apply: func(u *unstructured.Unstructured, _ object.Write) (*unstructured.Unstructured, error) {
		if u.GetName() == name {
			return nil, apierrors.NewBadRequest("no")
		}
		return u, nil
	}}
}
