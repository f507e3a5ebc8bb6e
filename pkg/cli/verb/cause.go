package verb

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// CauseFlag is --fail-on-cause: which causes end a wait before its time is over.
type CauseFlag struct {
	codes  []string
	tables []Causes
}

// Causes is a table of causes.
type Causes struct {
	// Codes are those that it has. Lasting says how long one of them has to last, and whether
	// it is one of those that do not pass by themselves.
	Codes   []string
	Lasting func(code string) (after time.Duration, ends bool)
}

// UnreadyCauses are the causes for which objects do not become ready.
func UnreadyCauses() Causes {
	return Causes{unready.Codes(), func(code string) (time.Duration, bool) {
		lasting, _ := unready.LastingOf(code)
		return lasting.After, lasting.Ends
	}}
}

// StuckCauses are the causes for which objects are not deleted.
func StuckCauses() Causes {
	return Causes{stuck.Codes(), func(code string) (time.Duration, bool) {
		lasting, _ := stuck.LastingOf(code)
		return lasting.After, lasting.Ends
	}}
}

const (
	causeFlag = "fail-on-cause"
	// usualCauses stands for the causes that do not pass by themselves.
	usualCauses = "usual"
)

// Add adds the flag to a command's; otherwise describes its default. A cause that several
// tables have is the same in all of them.
func (f *CauseFlag) Add(cmd *cobra.Command, otherwise string, tables ...Causes) {
	f.tables = tables
	cmd.Flags().StringSliceVar(&f.codes, causeFlag, nil,
		"CODE of a cause that ends the wait as failed once it has lasted; without a value, those that do not pass on their own. "+otherwise)
	cmd.Flags().Lookup(causeFlag).NoOptDefVal = usualCauses
	help.Words(cmd, causeFlag, f.all()...)
}

// EndsFor returns what says how long a cause has to last before it ends the wait, 0 for one
// that does not; nil if none does. unattended is set if no user can end a wait by hand.
func (f *CauseFlag) EndsFor(given func(string) bool, unattended bool) (func(event.Cause) time.Duration, error) {
	codes := slices.DeleteFunc(slices.Clone(f.codes), func(code string) bool { return code == "" })
	if unattended && !given(causeFlag) {
		codes = []string{usualCauses}
	}
	var faults []error
	for _, code := range codes {
		if code != usualCauses && !slices.Contains(f.all(), code) {
			faults = append(faults, noCode(code, f.all()))
		}
	}
	if len(codes) == 0 || len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return func(c event.Cause) time.Duration {
		after, ends := f.lasting(c.Code)
		if slices.Contains(codes, c.Code) || ends && slices.Contains(codes, usualCauses) {
			return after
		}
		return 0
	}, nil
}

// all returns the codes of all causes, sorted.
func (f *CauseFlag) all() []string {
	var codes []string
	for _, table := range f.tables {
		codes = append(codes, table.Codes...)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// lasting is that of the table which has the cause.
func (f *CauseFlag) lasting(code string) (after time.Duration, ends bool) {
	for _, table := range f.tables {
		if slices.Contains(table.Codes, code) {
			return table.Lasting(code)
		}
	}
	return 0, false
}

func noCode(code string, codes []string) error {
	err := fmt.Errorf("--%s: there is no cause %q", causeFlag, code)
	if near := text.Nearest(code, codes); near != "" {
		return &object.HintedError{Err: err, Advice: "did you mean " + near + "?"}
	}
	return err
}
