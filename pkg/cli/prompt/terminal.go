package prompt

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Terminal asks on the terminal of a call. A nil one never asks.
type Terminal struct {
	in       verb.Invocation
	pause    func(func())
	dialogue Dialogue
}

// on returns a Terminal for a call; pause suspends other drawing.
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

// Asks returns apply.Engine's Decide for a run of so many phases; nil if nothing is asked.
func (t *Terminal) Asks(phases int) func(context.Context, []apply.Contested) [][]apply.Decision {
	if t == nil {
		return nil
	}
	t.dialogue.Phases = phases
	return func(ctx context.Context, all []apply.Contested) (decisions [][]apply.Decision) {
		t.pause(func() {
			t.dialogue.Read = func(prompt string) (string, bool) {
				line, more, err := verb.Line(ctx, t.in.Streams, t.in.Say(prompt))
				if !more {
					fmt.Fprintln(t.in.Streams.ErrOut) // Nothing else ends the prompt's line.
				}
				return line, more && err == nil
			}
			decisions = t.dialogue.Decide(all)
		})
		return decisions
	}
}

// PrintCommand says by which call the run would have decided the same without a question, if it asked
// any that was answered; named says how a flag names an object.
func (t *Terminal) PrintCommand(named func(object.Ref) string) {
	if t == nil {
		return
	}
	flags := t.dialogue.Flags(named)
	if len(flags) == 0 {
		return
	}
	words := []string{command.Kubectl("k8sconnect", t.in.Cmd.Name())}
	for _, word := range append(t.in.Repeated(t.in.Cmd.Flags()), flags...) {
		words = append(words, text.ShellQuote(word))
	}
	fmt.Fprintf(t.in.Streams.ErrOut, "the same answers next time, without questions:\n  %s\n", t.in.Say(strings.Join(words, " ")))
}
