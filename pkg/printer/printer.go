package printer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Formats of the results.
const (
	Table  = "table"
	JSON   = "json"
	YAML   = "yaml"
	KYAML  = "kyaml"
	Name   = "name"
	Stream = "stream"
	JUnit  = "junit"
)

// Options of a Printer. Out and Err are needed; of all others the zero value is
// the default.
type Options struct {
	// Out takes the results, Err progress and warnings.
	Out, Err io.Writer
	// Format of the results; empty means Table.
	Format string
	// Color marks up results; Err is never coloured. See [UseColor].
	Color bool
	// Verbose lists what is otherwise only counted.
	Verbose bool
	// Progress keeps a live line at the bottom of Err, which has to be a terminal
	// that understands it (see [CanRedraw]). Without it, plain lines tell how far
	// the run is.
	Progress bool
	// Width is the number of columns of the terminal that Out is, asked anew each
	// time; nil or 0 where it is none: lines may then have any length.
	Width func() int
	// ErrWidth is the same for Err, and is asked only with Progress; nil or 0
	// means 80.
	ErrWidth func() int
	// Now is the clock by which owners have an age; nil means time.Now.
	Now func() time.Time
	// Run is the identifier of the run.
	Run string
	// OnRun is called when that was told; nil if nobody wants to know.
	OnRun func()
	// DryRun tells that nothing is persisted.
	DryRun bool
	// Unasked tells that in a dry run the server is not asked either what it would
	// do.
	Unasked bool
	// PastConflicts tells that the run goes on past objects in conflict.
	PastConflicts bool
	// Flags go into the commands that are printed to be pasted.
	Flags command.Flags
	// Mask takes out of an event what nobody is to see; nil takes out nothing.
	Mask func(event.Event) event.Event
	// Over returns why the run is over, nil as long as it is not: it ends a template that
	// would go on for ever. nil is never.
	Over func() error
	// External is the user's own diff program, which replaces the text of a diff
	// in the table format.
	External *External
}

// Printer writes what the events of one run say. It has to be closed.
type Printer struct {
	mu       sync.Mutex
	progress *progress
	screen   *screen
	reporter *reporter
	results  results
	redraw   *redraw
	mask     func(event.Event) event.Event
	closed   bool
	run      string
	onRun    func()
}

// results is the half of a printer that one format of one verb makes up.
type results interface {
	// take receives every event, in the order of the run.
	take(event.Event)
	// flush is called when a phase is over.
	flush()
	// finish is called once, when the run is over.
	finish(ctx context.Context) error
}

// base is what every format writes with.
type base struct {
	Options
	progress *progress
	screen   *screen
	paint    palette
}

// ForApply returns a printer for the events of an apply. The error names a
// format that there is not, or what is wrong with a template.
func ForApply(o Options) (*Printer, error) {
	applied := word{text: "applied", good: []event.Action{event.Created, event.Configured, event.Unchanged}}
	if o.DryRun {
		applied.text = "checked"
	}
	var fault error
	p, err := newPrinter(o, applied, func(b base) results {
		var writer *objectWriter
		if writer, fault = objectFormat(b); writer != nil {
			return newAppliedObjects(b, writer)
		}
		switch b.Format {
		case Table:
			return newApplyTable(b)
		case JSON, YAML, KYAML:
			return newApplyDocument(b)
		case JUnit:
			return &logged{newApplyDocument(b), newApplyTable(b.beside())}
		case Name:
			return newApplyNames(b)
		case Manifests:
			return noResults{}
		case Stream:
			return &stream{base: b, actions: applyActions()}
		default:
			return nil
		}
	})
	if fault != nil {
		return nil, fault
	}
	return p, err
}

// ForDiff returns a printer for the events of a diff. The error names a format
// that there is not, or an external program that nobody would run.
func ForDiff(o Options) (*Printer, error) {
	if o.External != nil && o.External.Run == nil {
		return nil, fmt.Errorf("external diff program %q: no means to run it", o.External.Name)
	}
	compared := word{text: "compared", good: []event.Action{event.Create, event.Update, event.Delete, event.None}}
	return newPrinter(o, compared, func(b base) results {
		switch b.Format {
		case Table:
			return newDiffTable(b)
		case JSON, YAML, KYAML:
			return newDiffDocument(b)
		case JUnit:
			return &logged{newDiffDocument(b), newDiffTable(b.beside())}
		case Name:
			return &diffNames{base: b}
		case Stream:
			return &stream{base: b, actions: diffActions()}
		default:
			return nil
		}
	})
}

func newPrinter(o Options, results word, choose func(base) results) (*Printer, error) {
	if o.Format == "" {
		o.Format = Table
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	progress := newProgress()
	progress.word = results
	screen := &screen{out: o.Out, err: o.Err}
	chosen := choose(base{Options: o, progress: progress, screen: screen, paint: newPalette(o.Color)})
	if chosen == nil {
		return nil, fmt.Errorf("unknown output format %q: use %s, %s, %s, %s, %s, %s or %s",
			o.Format, Table, JSON, YAML, KYAML, Name, Stream, JUnit)
	}
	p := &Printer{
		progress: progress,
		screen:   screen,
		reporter: newReporter(o, progress, screen),
		results:  chosen,
		mask:     o.Mask,
		run:      o.Run,
		onRun:    o.OnRun,
	}
	return p, nil
}

// Print takes one event. It may be called from several goroutines; what cannot
// be written is told by Close.
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
	if p.progress.endsPhase(e) {
		p.flush()
	}
	p.progress.take(e, p.reporter.now())
	p.results.take(e)
	p.reporter.take(e)
}

// Close writes what comes last: the rest of the table, documents, the summary.
// The terminal is left clean, whatever happens. ctx bounds the run of an
// external diff program and nothing else: results are written even when it is
// done. The error is the first of writing, or the program's.
func (p *Printer) Close(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	p.mu.Unlock()
	p.redraw.stop()

	p.screen.clear()
	p.flush()
	var err error
	if p.progress.begun { // Else the run ended before there was anything to print of it.
		err = p.results.finish(ctx)
		if p.run != "" && p.progress.wentWrong() {
			p.screen.note("run: " + text.Printable(p.run) + "\n") // By which the server's audit log knows it.
			if p.onRun != nil {
				p.onRun()
			}
		}
	}
	return errors.Join(err, p.screen.failure)
}

// Pause writes what there is to say so far, then keeps everything else from the
// terminal until do returns: somebody is asked something.
func (p *Printer) Pause(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flush()
	p.screen.clear()
	do()
}

// flush writes what was held back until a phase is over, warnings first.
func (p *Printer) flush() {
	p.reporter.flush()
	p.results.flush()
}

// tick lets time be seen to pass, on a terminal and in a log.
func (p *Printer) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.reporter.tick()
	}
}
