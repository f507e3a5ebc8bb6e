// Package printer prints a run: results on stdout and progress on stderr. [Formats] lists the
// formats of a report. Start with [For], then call Print for each event, and finally Close. Results come in
// plan order, except in the stream. The package sends no requests and does no masking of its own.
package printer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/progress"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Printer prints the events of one run. It must be closed.
type Printer struct {
	mu       sync.Mutex
	state    *output.State
	screen   *output.Screen
	reporter *progress.Reporter
	results  output.Results
	redraw   *redraw
	mask     func(event.Event) event.Event
	closed   bool
	run      string
	onRun    func()
}

func newPrinter(r Report, o output.Options) (*Printer, error) {
	if o.Format == "" {
		o.Format = output.Table
	}
	list := formatsOf(r, o)
	i := slices.IndexFunc(list, func(f format) bool { return output.IsOneOf(o.Format, []string{f.name}) })
	if i < 0 {
		err := fmt.Errorf("unknown output format %q: use %s", o.Format, output.ListOf(Formats(r)))
		if strings.HasPrefix(o.Format, "go-template") || strings.HasPrefix(o.Format, "custom-columns") { // of kubectl
			return nil, &object.HintedError{Err: err, Advice: "use -o jsonpath=TEMPLATE, or -o json with jq"}
		}
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	state := output.NewState(summary(r, o.DryRun), r == OfWait)
	b := output.NewBase(o, state)
	reporter := progress.New(b)
	results, err := list[i].results(b, reporter)
	if err != nil {
		return nil, err
	}
	return &Printer{state: state, screen: b.Screen, reporter: reporter, results: results, mask: o.Mask, run: o.Run, onRun: o.OnRun}, nil
}

// Print prints one event. It is safe for concurrent use. Write errors are returned by Close.
func (p *Printer) Print(e event.Event) {
	if p.mask != nil {
		e = p.mask(e)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if p.redraw == nil {
		p.redraw = startRedraw(p.tick)
	}
	if p.state.EndsPhase(e) {
		p.Flush()
	}
	p.state.Handle(e)
	p.results.Handle(e)
	p.reporter.Handle(e)
}

// Close prints all remaining output and leaves the terminal clean. ctx affects only an external
// diff program. Close returns the first write error or, if there is none, the program's error.
func (p *Printer) Close(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	p.mu.Unlock()
	p.redraw.stop()

	p.screen.Clear()
	p.reporter.End()
	p.results.Flush()
	var err error
	if p.state.Begun { // Otherwise the run ended before it had anything to print.
		p.screen.Heading("") // The final output concerns the whole run, not its last phase.
		err = p.results.Finish(ctx)
		if p.run != "" && p.state.WentWrong() {
			p.screen.Note("run: " + text.Printable(p.run) + "\n") // The server's audit log contains this id.
			if p.onRun != nil {
				p.onRun()
			}
		}
	}
	return errors.Join(err, p.screen.Failure)
}

// Pause prints everything so far and then calls the function do. Nothing else is printed until that
// function returns.
func (p *Printer) Pause(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Flush()
	p.screen.Clear()
	do()
}

// InFlags returns a function that names the run's objects in the form that flags expect.
func (p *Printer) InFlags() func(object.Ref) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.InFlags()
}

// Flush prints the output that was held back until the end of a phase.
func (p *Printer) Flush() {
	p.reporter.Flush()
	p.results.Flush()
}

func (p *Printer) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.reporter.Tick()
	}
}

// redraw calls a function several times a second until the redraw is stopped. The first call comes
// late enough that a short run shows no status line.
type redraw struct {
	quit chan struct{}
	done sync.WaitGroup
}

func startRedraw(draw func()) *redraw {
	r := &redraw{quit: make(chan struct{})}
	r.done.Go(func() {
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				draw()
			case <-r.quit:
				return
			}
		}
	})
	return r
}

func (r *redraw) stop() {
	if r != nil {
		close(r.quit)
		r.done.Wait()
	}
}
