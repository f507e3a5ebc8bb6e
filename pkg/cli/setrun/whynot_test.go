package setrun

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

// The report names the reason why nothing was pruned.
func TestWhyNot(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	late, done := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer done()
	for name, c := range map[string]struct {
		ctx     context.Context
		applied error
		leftOut bool
		want    string
	}{
		"all went well":               {ctx: t.Context()},
		"a conflict":                  {ctx: t.Context(), applied: &apply.IncompleteError{}, want: "not everything was applied"},
		"not ready":                   {ctx: t.Context(), applied: fmt.Errorf("wait: %w", &wait.UnmetError{}), want: "not everything is ready"},
		"interrupted":                 {ctx: interrupted, applied: context.Canceled, want: "the run was interrupted"},
		"interrupted waiting":         {ctx: interrupted, applied: &wait.UnmetError{}, want: "the run was interrupted"},
		"not ready in time":           {ctx: late, applied: &wait.UnmetError{}, want: "not everything is ready"},
		"out of time":                 {ctx: late, applied: context.DeadlineExceeded, want: "the run ended early"},
		"interrupted after the apply": {ctx: interrupted},
		"part of the input skipped":   {ctx: t.Context(), leftOut: true, want: "some of the input was skipped"},
		"both":                        {ctx: t.Context(), applied: errors.New("refused"), leftOut: true, want: "not everything was applied"},
	} {
		if got := whyNot(c.ctx, c.applied, c.leftOut); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
