package waitcmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

// TimesFlag gives kinds and conditions times of their own.
type TimesFlag struct {
	given []string
	// Standing are times that hold for many runs, in the same form; what is given counts
	// before them.
	Standing []string
}

// Add adds the flag to a command's.
func (f *TimesFlag) Add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.given, "timeout-for", nil,
		"KIND=DURATION, CONDITION=DURATION or KIND:CONDITION=DURATION for what needs another time; create is the time to exist. Repeatable")
	help.Words(cmd, "timeout-for")
}

// ToLimits parses the flag; awaited are the conditions to wait for.
func (f *TimesFlag) ToLimits(awaited []condition.Spec) (wait.TimeLimits, error) {
	limits, err := wait.ParseTimeLimits(f.given)
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, l := range limits {
		if l.Most == 0 {
			faults = append(faults, fmt.Errorf("--timeout-for=%s: the time must be more than 0", l))
		}
	}
	for _, l := range limits.Unknown(awaited) {
		faults = append(faults, &object.HintedError{
			Err:    fmt.Errorf("--timeout-for=%s: nothing waits for %q", l, l.Condition.Text),
			Advice: "write the condition as it is waited for, or create for the time to exist",
		})
	}
	limits, err = limits.With(f.Standing)
	return limits, errors.Join(append(faults, err)...)
}

// Given reports whether the flag was given.
func (f *TimesFlag) Given() bool { return len(f.given) > 0 }

// Bound gives an engine the times, and warns of those for kinds without objects to wait
// for.
func Bound(engine *wait.Engine, limits wait.TimeLimits, targets []wait.Target, emit func(event.Event)) {
	engine.Limits = limits
	var kinds []object.Kind
	for _, t := range targets {
		kinds = append(kinds, t.Kind)
	}
	for _, l := range limits.Idle(kinds) {
		emit(event.Warned{Text: fmt.Sprintf("--timeout-for=%s: nothing of that kind is waited for", l)})
	}
}
