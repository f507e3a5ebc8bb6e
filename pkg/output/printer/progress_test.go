package printer_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// refused is the error of a client if the API server is down.
func refused() error {
	return fmt.Errorf("list ConfigMaps: %w", &url.Error{
		Op: "Get", URL: "https://[::1]:6443/api",
		Err: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
	})
}

// terminal emulates the features of a terminal that the printer uses, and returns the visible
// lines.
type terminal struct {
	mu     sync.Mutex
	lines  []string
	line   []rune
	column int
	below  [][]rune // how many lines below the cursor's
	frames []string // the last line after each write
}

func (t *terminal) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := string(text)
	for rest != "" {
		if after, ok := strings.CutPrefix(rest, "\x1b[K"); ok {
			t.line, rest = t.line[:t.column], after
			continue
		}
		if after, ok := strings.CutPrefix(rest, "\x1b[J"); ok {
			t.line, t.below, rest = t.line[:t.column], nil, after
			continue
		}
		if up := regexp.MustCompile("^\x1b\\[([0-9]+)A").FindStringSubmatch(rest); up != nil {
			rest = rest[len(up[0]):]
			n, _ := strconv.Atoi(up[1])
			for range n {
				last := len(t.lines) - 1
				t.below = append([][]rune{t.line}, t.below...)
				t.line, t.lines = []rune(t.lines[last]), t.lines[:last]
			}
			continue
		}
		r := []rune(rest)[0]
		rest = rest[len(string(r)):]
		switch r {
		case '\r':
			t.column = 0
		case '\n':
			t.lines = append(t.lines, string(t.line))
			t.line, t.column = nil, 0
			if len(t.below) > 0 {
				t.line, t.below = t.below[0], t.below[1:]
			}
		case '\x1b':
			return 0, errors.New("an unexpected escape sequence")
		default:
			t.line = append(t.line[:t.column], append([]rune{r}, t.line[min(len(t.line), t.column+1):]...)...)
			t.column++
		}
	}
	if frame := strings.TrimRight(string(t.line), " "); frame != "" {
		t.frames = append(t.frames, frame)
	}
	return len(text), nil
}

func (t *terminal) bottom() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimRight(string(t.line), " ")
}

// watch prints stdout and stderr to one terminal, in virtual time: the clock advances only when all
// goroutines wait.
func watch(t *testing.T, report printer.Report, width func() int, script func(term *terminal, p *printer.Printer)) *terminal {
	return watchWith(t, report, output.Options{ErrWidth: width}, script)
}

func watchWith(t *testing.T, report printer.Report, o output.Options, script func(term *terminal, p *printer.Printer)) *terminal {
	term := &terminal{}
	o.Out, o.Err, o.Progress = term, term, true
	synctest.Test(t, func(t *testing.T) {
		p, err := printer.For(report, o)
		if err != nil {
			t.Fatal(err)
		}
		script(term, p)
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if term.bottom() != "" {
			t.Errorf("left on the terminal: %q", term.bottom())
		}
	})
	return term
}

// pass advances the clock, and so updates the status line.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func phases() event.Planned {
	return event.Planned{Phases: []event.Phase{{Name: "configuration", Total: 100}, {Name: "workloads", Total: 100}}}
}

func TestLiveLine(t *testing.T) {
	tests := map[string]struct {
		width  int
		events []event.Event
		want   string
	}{
		"before the plan": {80, []event.Event{event.Retrying{Err: refused(), Left: 30 * time.Second}}, "waiting for the API server (1s of 30s): connection refused"},
		"nothing done":    {80, []event.Event{phases()}, "[           ] 0/200"},
		"under way": {90, []event.Event{
			phases(),
			event.PhaseStarted{Index: 0},
			event.Started{Ref: config("a")},
			event.Started{Ref: config("b")},
			event.Started{Ref: config("c")},
			event.Applied{Ref: config("a"), Action: event.Created},
			event.Started{Ref: config("d")},
		}, "configuration [>             ] 1/200  configmap/b -n prod, configmap/c -n prod, +1 more"},
		"narrow": {40, []event.Event{
			phases(), event.PhaseStarted{Index: 0}, event.Started{Ref: config("a")},
		}, "0/200  configmap/a -n prod"},
		"a failure": {100, []event.Event{
			phases(), event.PhaseStarted{Index: 1}, event.Applied{Ref: config("a"), Action: event.Failed},
		}, "workloads [>                 ] 1/200, 1 failed"},
		"server down, narrow": {40, []event.Event{
			phases(), event.PhaseStarted{Index: 0}, event.Retrying{Err: refused(), Left: 13 * time.Second},
		}, "waiting for the API server (1s of 13s)…"},
		"server down": {80, []event.Event{
			phases(), event.PhaseStarted{Index: 0}, event.Retrying{Err: refused(), Left: 13 * time.Second},
		}, "configuration 0/200  waiting for the API server (1s of 13s): connection refused"},
		"one blocked object": {100, []event.Event{
			phases(), event.PhaseStarted{Index: 0}, event.Retrying{Ref: config("a"), Err: apierrors.NewTooManyRequests("slow down", 1)},
		}, "configuration 0/200  trying configmap/a -n prod again: slow down"},
		"waiting": {100, []event.Event{
			phases(), event.PhaseStarted{Index: 0}, event.Waiting{Ref: config("a"), For: "it to be served"},
		}, "configuration 0/200  configmap/a -n prod: waiting for it to be served"},
		"escapes": {100, []event.Event{
			phases(), event.Waiting{For: "\x1b[2J\r\n"},
		}, `0/200  waiting for \x1b[2J\r\n`},
		"very narrow": {9, []event.Event{phases()}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			watch(t, printer.OfApply, columns(tt.width), func(term *terminal, p *printer.Printer) {
				for _, e := range tt.events {
					p.Print(e)
				}
				pass(time.Second)
				if got := term.bottom(); got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
				for _, frame := range term.frames {
					if n := len([]rune(frame)); n >= tt.width {
						t.Errorf("%d columns on a terminal of %d: %s", n, tt.width, frame)
					}
				}
			})
		})
	}
}

// The output above the status line is complete and contains no part of the status line. A countdown
// continues while nothing happens, and the rate is shown.
func TestLiveLineAndResults(t *testing.T) {
	term := watch(t, printer.OfApply, columns(100), func(term *terminal, p *printer.Printer) {
		p.Print(phases())
		p.Print(event.PhaseStarted{Index: 0})
		for i := range 50 {
			pass(100 * time.Millisecond)
			p.Print(event.Applied{Ref: config(fmt.Sprintf("c-%02d", i)), Action: event.Unchanged})
		}
		p.Print(event.Applied{Ref: config("new"), Action: event.Created})
		p.Print(event.Warned{Ref: config("new"), Text: "deprecated"})
		pass(time.Second)
		if got := term.bottom(); !strings.Contains(got, "51/200") || !strings.Contains(got, "/s") {
			t.Errorf("no counters or no rate: %s", got)
		}
		p.Print(event.Retrying{Err: refused(), Left: 20 * time.Second})
		pass(5 * time.Second)
		if got := term.bottom(); !strings.Contains(got, "(5s of 20s)") {
			t.Errorf("the countdown stands still: %s", got)
		}
		p.Print(event.Reachable{})
		p.Print(event.PhaseStarted{Index: 1})
		pass(time.Second)
		if got := term.bottom(); !strings.HasPrefix(got, "workloads [") {
			t.Errorf("the line does not show the current phase: %s", got)
		}
		p.Print(event.Applied{Ref: web(), Action: event.Configured})
	})
	want := []string{
		"warning: configmap/new -n prod: deprecated",
		"created     configmap/new -n prod",
		"configured  deployment.apps/web -n prod",
		"1 created, 1 configured, 50 unchanged, 148 not reached",
	}
	if diff := cmp.Diff(want, term.lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A short run shows no status line, because it would only flicker.
func TestShortRunsShowNoLine(t *testing.T) {
	term := watch(t, printer.OfDiff, nil, func(_ *terminal, p *printer.Printer) {
		p.Print(phases())
		p.Print(event.PhaseStarted{Index: 0})
		pass(100 * time.Millisecond)
	})
	if len(term.frames) != 0 {
		t.Errorf("shown: %q", term.frames)
	}
}

// The terminal may change its width during the run.
func TestResize(t *testing.T) {
	var width atomic.Int64
	columns := func() int { return int(width.Load()) }
	watch(t, printer.OfApply, columns, func(term *terminal, p *printer.Printer) {
		p.Print(phases())
		p.Print(event.Started{Ref: config(strings.Repeat("long", 40))})
		for _, now := range []int{120, 61, 60, 40, 12, 200} {
			width.Store(int64(now))
			pass(200 * time.Millisecond)
			if n := len([]rune(term.bottom())); n >= now || n < now/2 {
				t.Errorf("%d columns of %d: %s", n, now, term.bottom())
			}
		}
	})
}

// A log quotes the server's error once, however often the request is retried.
func TestReasonIsPrintedOnce(t *testing.T) {
	got := in(t, 1, printer.OfApply, func(w *watched) {
		w.p.Print(phases())
		w.p.Print(event.PhaseStarted{Index: 0})
		w.p.Print(event.Retrying{Ref: config("a"), Err: apierrors.NewInternalError(errors.New("no webhook")), Left: 40 * time.Second})
		pass(35 * time.Second)
	})
	text := strings.Join(got, "\n")
	if strings.Count(text, "no webhook") != 1 || strings.Count(text, "trying configmap/a -n prod again (") != 2 {
		t.Errorf("%s", text)
	}
}

// Without a terminal, progress is printed as plain lines: at the start of each phase, and after ten
// seconds without output. A problem that many workers share has one line.
func TestPlainLines(t *testing.T) {
	overloaded := func(name string) event.Event {
		return event.Retrying{Ref: config(name), Err: apierrors.NewTooManyRequests("slow down, "+name, 1), Left: 30 * time.Second}
	}
	done := func(name string) event.Event { return event.Applied{Ref: config(name), Action: event.Unchanged} }
	steps := []struct {
		after  time.Duration
		events []event.Event
	}{
		{0, []event.Event{event.Retrying{Err: refused(), Left: 30 * time.Second}}},
		{time.Second, []event.Event{event.Retrying{Err: refused(), Left: 29 * time.Second}}},
		{0, []event.Event{event.Reachable{}, phases()}},
		{0, []event.Event{event.PhaseStarted{Index: 0}}},
		{9 * time.Second, []event.Event{done("a")}},
		{2 * time.Second, []event.Event{done("b")}},
		{time.Second, []event.Event{overloaded("c"), overloaded("d"), overloaded("e")}},
		{time.Second, []event.Event{done("c"), done("d"), overloaded("f")}},
		{time.Second, []event.Event{event.Retrying{Err: refused(), Left: 30 * time.Second}, event.Retrying{Err: refused(), Left: 30 * time.Second}}},
		{time.Second, []event.Event{event.Waiting{Ref: config("z"), For: "it to be served"}, event.Waiting{Ref: config("y"), For: "it to be served"}}},
		{time.Second, []event.Event{event.Reachable{}, done("e")}},
		{time.Second, []event.Event{event.Retrying{Err: refused(), Left: 30 * time.Second}}},
		{25 * time.Second, []event.Event{event.Reachable{}, event.PhaseStarted{Index: 1}}},
	}
	got := in(t, 1, printer.OfApply, func(w *watched) {
		for _, step := range steps {
			pass(step.after)
			for _, e := range step.events {
				w.p.Print(e)
			}
		}
	})
	const away = `the API server does not answer, trying again for up to 30 s: list ConfigMaps: Get "https://[::1]:6443/api": dial tcp: connect: connection refused`
	want := []string{
		away,
		"the API server is answering again",
		"phase 1 of 2, configuration: 1 of 200 applied",
		"the request for configmap/c -n prod failed, trying again for up to 30 s: slow down, c",
		away,
		"configmap/z -n prod: waiting for it to be served",
		"the API server is answering again",
		away,
		"phase 1 of 2, configuration: 5 of 200 applied; waiting for the API server (10s of 30s): connection refused",
		"the API server is answering again",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUseColor(t *testing.T) {
	tests := map[string]struct {
		mode     string
		terminal bool
		env      string
		want     bool
	}{
		"terminal":             {mode: "auto", terminal: true, want: true},
		"default is auto":      {terminal: true, want: true},
		"no terminal":          {mode: "auto"},
		"NO_COLOR":             {mode: "auto", terminal: true, env: "NO_COLOR=1"},
		"empty NO_COLOR":       {mode: "auto", terminal: true, env: "NO_COLOR=", want: true},
		"dumb terminal":        {mode: "auto", terminal: true, env: "TERM=dumb"},
		"requested":            {mode: "always", env: "NO_COLOR=1", want: true},
		"never, on a terminal": {mode: "never", terminal: true},
		"unknown mode":         {mode: "yes", terminal: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := output.UseColor(tt.mode, tt.terminal, environment(tt.env))
			if got != tt.want || (err != nil) != (tt.mode == "yes") {
				t.Errorf("got %t, %v; want %t", got, err, tt.want)
			}
		})
	}
}

func TestCanRedraw(t *testing.T) {
	tests := map[string]struct {
		terminal bool
		env      string
		want     bool
	}{
		"terminal":      {terminal: true, want: true},
		"log file":      {},
		"dumb terminal": {terminal: true, env: "TERM=dumb"},
		"no colour":     {terminal: true, env: "NO_COLOR=1", want: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := output.CanRedraw(tt.terminal, environment(tt.env)); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

// environment is an environment with a single variable.
func environment(setting string) func(string) string {
	return func(name string) string {
		if key, value, _ := strings.Cut(setting, "="); key == name {
			return value
		}
		return ""
	}
}
