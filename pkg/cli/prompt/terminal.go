// Package prompt asks the user in a terminal how to resolve conflicts. A [Dialogue] turns answers
// into decisions and flags; a [Terminal] connects it to the terminal.
package prompt

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Terminal asks in the terminal of an invocation. A nil Terminal never asks.
type Terminal struct {
	in       verb.Invocation
	pause    func(func())
	dialogue Dialogue
	keeper   Keeper
}

// on returns a Terminal. pause suspends other output.
func on(in verb.Invocation, pause func(func())) *Terminal {
	width, _ := verb.Terminal(in.Streams.ErrOut)
	return &Terminal{in: in, pause: pause, dialogue: Dialogue{
		Now: time.Now, Width: width,
		Say: func(lines ...string) {
			for _, line := range lines {
				fmt.Fprintln(in.Streams.ErrOut, in.Say(line))
			}
		},
	}}
}

// Keeper keeps rules for later runs.
type Keeper interface {
	Places(ref object.Ref) Places
	// Keep writes a rule. It returns a line about what it has written and where.
	Keep(rule Rule) (written string, err error)
}

// Asks returns a Decide function for the engine of package apply; nil if there are no prompts.
func (t *Terminal) Asks(phases int, keeper Keeper) func(context.Context, []apply.Contested) [][]apply.Decision {
	if t == nil {
		return nil
	}
	t.keeper, t.dialogue.Phases, t.dialogue.Places = keeper, phases, keeper.Places
	return func(ctx context.Context, all []apply.Contested) (decisions [][]apply.Decision) {
		t.pause(func() {
			t.dialogue.Read = func(prompt string) (string, bool) {
				line, more, err := verb.Line(ctx, t.in.Streams, t.in.Say(prompt))
				if !more {
					fmt.Fprintln(t.in.Streams.ErrOut)
				}
				return line, more && err == nil
			}
			decisions = t.dialogue.Decide(all)
		})
		return decisions
	}
}

// Finish writes the rules that the user wants to keep, and prints the command that gives the other
// answers. named returns the name of an object as written in a flag.
func (t *Terminal) Finish(named func(object.Ref) string) {
	if t == nil {
		return
	}
	t.dialogue.Keep(func(rule Rule) bool {
		written, err := t.keeper.Keep(rule)
		if err != nil {
			written = "not written: " + err.Error()
			if hints := format.Hints(err); len(hints) > 0 {
				written += "\n  hint: " + strings.Join(hints, "\n  hint: ")
			}
		}
		fmt.Fprintln(t.in.Streams.ErrOut, format.Fit("always: ", t.in.Say(written), t.dialogue.Width))
		return err == nil
	})
	t.printCommand(named)
}

// printCommand prints the command that makes the same decisions without prompting.
func (t *Terminal) printCommand(named func(object.Ref) string) {
	flags := t.dialogue.Flags(named)
	if len(flags) == 0 {
		return
	}
	words := []string{command.Kubectl("k8sconnect", t.in.Cmd.Name())}
	for _, word := range append(t.in.Repeated(t.in.Cmd.Flags()), flags...) {
		words = append(words, text.ShellQuote(word))
	}
	fmt.Fprintf(t.in.Streams.ErrOut, "to give the same answers without prompts:\n  %s\n", t.in.Say(strings.Join(words, " ")))
}

// Flags are the flags for prompts.
type Flags struct{ noInput bool }

// Add adds the flag.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.noInput, "no-input", false, "Never prompt: conflicts remain unresolved, and a run that needs confirmation is refused")
}

// CanAsk reports whether a user can answer: there is a terminal, no --no-input, and no CI.
func (f *Flags) CanAsk(in verb.Invocation) bool {
	return !f.noInput && !isInCI(os.Getenv) && verb.CanAsk(in.Streams)
}

// ToTerminal returns a Terminal; nil if no user can answer, if a program reads the output, or if
// nothing is written.
func (f *Flags) ToTerminal(in verb.Invocation, format string, filenames []string, dryRun object.DryRun, pause func(func())) *Terminal {
	if !f.CanAsk(in) || dryRun != object.DryRunNone || format != output.Table || slices.Contains(filenames, "-") {
		return nil
	}
	return on(in, pause)
}

// isInCI reports whether the run is part of a CI job. Some CI jobs have a terminal but no user.
func isInCI(getenv func(string) string) bool {
	switch strings.ToLower(getenv("CI")) {
	case "", "0", "false":
		return false
	default:
		return true
	}
}
