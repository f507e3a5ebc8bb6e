package await

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

// HangFlags are the flags of the waiting verbs that say what to do about objects that
// hang.
type HangFlags struct {
	stuckAfter  time.Duration
	failOnCause []string
	logs        int
}

// usualCauses stands for the causes that do not pass by themselves.
const usualCauses = "usual"

// Add adds the flags to a command's; otherwise describes the default of --fail-on-cause.
func (f *HangFlags) Add(cmd *cobra.Command, otherwise string) {
	flags := cmd.Flags()
	flags.DurationVar(&f.stuckAfter, "stuck-after", 15*time.Second, "How long an object may make no progress before the reason is given")
	flags.StringSliceVar(&f.failOnCause, "fail-on-cause", nil,
		"CODE of a cause that ends the wait as failed once it has lasted; without a value, those that do not pass on their own. "+otherwise)
	flags.Lookup("fail-on-cause").NoOptDefVal = usualCauses
	flags.IntVar(&f.logs, "logs", 0, "How many of the last lines of a container to show with a cause that names it")
	help.Words(cmd, "logs")
	help.Words(cmd, "fail-on-cause", unready.Codes()...)
	help.Words(cmd, "stuck-after")
}

// Hanging is the meaning of the flags.
type Hanging struct {
	stuckAfter time.Duration
	endsFor    func(event.Cause) time.Duration
	logs       int
}

// ToHanging resolves the flags; unattended is set if no user can end a wait by hand.
func (f *HangFlags) ToHanging(flags *pflag.FlagSet, unattended bool) (Hanging, error) {
	h := Hanging{stuckAfter: f.stuckAfter, logs: f.logs}
	switch {
	case f.stuckAfter <= 0:
		return h, errors.New("--stuck-after must be more than 0")
	case f.logs < 0:
		return h, errors.New("--logs must not be negative")
	}
	codes := slices.DeleteFunc(slices.Clone(f.failOnCause), func(code string) bool { return code == "" })
	if unattended && !flags.Changed("fail-on-cause") {
		codes = []string{usualCauses}
	}
	var faults []error
	for _, code := range codes {
		if _, known := unready.LastingOf(code); !known && code != usualCauses {
			faults = append(faults, noCode(code))
		}
	}
	if len(codes) > 0 {
		h.endsFor = func(c event.Cause) time.Duration {
			lasting, _ := unready.LastingOf(c.Code)
			if slices.Contains(codes, c.Code) || lasting.Ends && slices.Contains(codes, usualCauses) {
				return lasting.After
			}
			return 0
		}
	}
	return h, errors.Join(faults...)
}

func noCode(code string) error {
	err := fmt.Errorf("--fail-on-cause: there is no cause %q", code)
	if near := text.Nearest(code, unready.Codes()); near != "" {
		return &object.HintedError{Err: err, Advice: "did you mean " + near + "?"}
	}
	return err
}

// Onto makes an engine, whose Emit is set, explain what hangs during its wait.
func (h Hanging) Onto(engine *wait.Engine, client *cluster.Client, mask func(string) string) {
	logs := &podLogs{lines: h.logs, read: client.NoRetry().Log, mask: mask, emit: engine.Emit}
	explainer := &unready.Explainer{Reader: patientReader{client.NoRetry(), client}, Now: client.Now}
	engine.StuckAfter, engine.EndsFor, engine.Complains = h.stuckAfter, h.endsFor, unready.Complains
	engine.Explain = func(ctx context.Context, objects []wait.Stalled) wait.Explanations {
		asked := make([]unready.Asked, len(objects))
		for i, o := range objects {
			asked[i] = unready.Asked{Ref: o.Ref, Moved: o.Moved, Fresh: o.Fresh}
		}
		causes, cost := explainer.Explain(ctx, asked)
		said := wait.Explanations{Causes: causes, Requests: make([]int, len(objects)), Shared: cost.Shared}
		for i := range objects {
			said.Requests[i] = divided(cost.Own, len(objects)) + logs.onto(ctx, causes[i])
		}
		said.Again = divided(cost.Again, len(objects))
		return said
	}
}

// divided returns the share of each of n, rounded up.
func divided(cost, n int) int { return (cost + n - 1) / n }

// IsUnattended reports whether a run has no user watching it.
func IsUnattended(streams genericiooptions.IOStreams) bool {
	_, onTerminal := verb.Terminal(streams.ErrOut)
	return !onTerminal
}
