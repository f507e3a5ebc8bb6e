package printer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// The test prints a whole run to a terminal: each status line, in order, and the final screen.
func TestTerminalGolden(t *testing.T) {
	for _, width := range []int{120, 80, 40} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			term := &terminal{}
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				p, err := printer.For(printer.OfApply, output.Options{
					Out: term, Err: term, Now: func() time.Time { return noon().Add(time.Since(began)) }, Progress: true, Width: columns(width), ErrWidth: columns(width),
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range slow(applyStory(t)) {
					p.Print(e)
					if e != (event.Reachable{}) { // The next event shows that it is.
						pass(time.Second)
					}
				}
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
			golden(t, fmt.Sprintf("apply-terminal-%d", width), written{
				out: strings.Join(term.lines, "\n") + "\n",
				err: strings.Join(slices.Compact(term.frames), "\n") + "\n",
			})
		})
	}
}

// slow adds a temporary outage of the server to a story.
func slow(events []event.Event) []event.Event {
	away := []event.Event{event.Retrying{Err: refused(), Left: 30 * time.Second}, event.Retrying{Err: refused(), Left: 29 * time.Second}}
	at := slices.IndexFunc(events, func(e event.Event) bool { return e == event.PhaseStarted{Index: 2} })
	back := []event.Event{event.Reachable{}}
	return slices.Concat(away, back, events[:at], away, back, events[at:])
}
