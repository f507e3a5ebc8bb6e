// Package causes is the flag --fail-on-cause, for the verbs that wait or delete.
package causes

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Flag is --fail-on-cause: the causes that end a wait early.
type Flag struct {
	codes  []string
	tables []map[string]diagnose.Lasting
}

const (
	flagName = "fail-on-cause"
	// usualCauses selects all causes that do not go away on their own.
	usualCauses = "usual"
)

// Add adds the flag to a command. The parameter (otherwise) describes the flag's default.
func (f *Flag) Add(cmd *cobra.Command, otherwise string, tables ...map[string]diagnose.Lasting) {
	f.tables = tables
	cmd.Flags().StringSliceVar(&f.codes, flagName, nil,
		"CODE of a cause that makes the wait fail if the cause persists; without a value, every cause that does not go away on its own. "+otherwise)
	cmd.Flags().Lookup(flagName).NoOptDefVal = usualCauses
	help.Words(cmd, flagName, f.allCodes()...)
}

// EndsFor returns how long each cause must last to end the wait; nil if no cause ends it.
// unattended means that no user can interrupt the wait.
func (f *Flag) EndsFor(given func(string) bool, unattended bool) (func(event.Cause) time.Duration, error) {
	codes := slices.DeleteFunc(slices.Clone(f.codes), func(code string) bool { return code == "" })
	if unattended && !given(flagName) {
		codes = []string{usualCauses}
	}
	var faults []error
	for _, code := range codes {
		if code != usualCauses && !slices.Contains(f.allCodes(), code) {
			faults = append(faults, noCode(code, f.allCodes()))
		}
	}
	if len(codes) == 0 || len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return func(c event.Cause) time.Duration {
		lasting := f.lasting(c.Code)
		if slices.Contains(codes, c.Code) || lasting.Ends && slices.Contains(codes, usualCauses) {
			return lasting.After
		}
		return 0
	}, nil
}

func (f *Flag) allCodes() []string {
	var codes []string
	for _, table := range f.tables {
		codes = slices.AppendSeq(codes, maps.Keys(table))
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

func (f *Flag) lasting(code string) diagnose.Lasting {
	for _, table := range f.tables {
		if lasting, has := table[code]; has {
			return lasting
		}
	}
	return diagnose.Lasting{}
}

func noCode(code string, codes []string) error {
	err := fmt.Errorf("--%s: unknown cause %q", flagName, code)
	if near := text.Nearest(code, codes); near != "" {
		return &object.HintedError{Err: err, Advice: "did you mean " + near + "?"}
	}
	return err
}
