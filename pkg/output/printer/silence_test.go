package printer_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// log is a stderr that is not a terminal. It records each text with the time at which it was
// written.
type log struct {
	mu    sync.Mutex
	lines []string
	at    []time.Time
}

func (l *log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(string(text)) {
		l.lines, l.at = append(l.lines, strings.TrimSuffix(line, "\n")), append(l.at, time.Now())
	}
	return len(text), nil
}

// since returns the lines from the nth on, with the times at which they were written.
func (l *log) since(n int) ([]string, []time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines[n:]), slices.Clone(l.at[n:])
}

// watched is a run with its log, and the state that the test expects.
type watched struct {
	t      *testing.T
	log    *log
	p      *printer.Printer
	random *rand.Rand
	// open has the objects in progress or awaited, named as in the output.
	open map[string]bool
	good int
}

// say prints an event and records the new state of its object.
func (w *watched) say(e event.Event) {
	switch e := e.(type) {
	case event.Started:
		w.open[name(e.Ref)] = true
	case event.Judged:
		w.open[name(e.Ref)] = true
	case event.Applied:
		w.end(e.Ref, e.Action == event.Created)
	case event.Deleted:
		w.end(e.Ref, e.Action == event.Gone)
	case event.Waited:
		w.end(e.Ref, e.Action == event.Met)
	}
	w.p.Print(e)
}

func (w *watched) end(ref object.Ref, good bool) {
	delete(w.open, name(ref))
	if good {
		w.good++
	}
}

func name(ref object.Ref) string {
	return strings.ToLower(ref.GVK.Kind) + suffix(ref.GVK.Group) + "/" + ref.Name + " -n " + ref.Namespace
}

func suffix(group string) string {
	if group == "" {
		return ""
	}
	return "." + group
}

// counted returns the number of objects that a line counts as finished.
var counted = regexp.MustCompile(`(\d+) of (\d+) (applied|gone|met)`)

// nothing advances the clock without events, and checks the log. The log must have a line after ten
// seconds, after twenty more, after forty more, and then every minute. Each line names objects in
// progress, with the time that they have taken, and never a finished object.
func (w *watched) nothing(atLeast time.Duration, limit string) {
	w.t.Helper()
	before, _ := w.log.since(0)
	began := time.Now()
	pass(atLeast + time.Duration(w.random.IntN(120))*time.Second)
	lines, at := w.log.since(len(before))
	last := began
	pauses := []time.Duration{11 * time.Second, 21 * time.Second, 41 * time.Second, 61 * time.Second}
	for i, when := range append(at, time.Now()) {
		if gap := when.Sub(last); gap > pauses[min(i, len(pauses)-1)] {
			w.t.Fatalf("no line for %s, after %q", gap, before)
		}
		last = when
	}
	most := 1
	for _, by := range []time.Duration{19 * time.Second, 59 * time.Second, 119 * time.Second} {
		if time.Since(began) > by {
			most++
		}
	}
	if n := len(lines); n > most {
		w.t.Errorf("%d lines in %s: %q", n, time.Since(began), lines)
	}
	for i, line := range lines {
		w.truthful(line)
		if len(w.open) > 0 && !slices.ContainsFunc(slices.Collect(keys(w.open)), func(open string) bool { return strings.Contains(line, open) }) {
			w.t.Errorf("the line names no object in progress: %q; in progress are %v", line, w.open)
		}
		// An activity that has just begun is shown without a time.
		if (i > 0 || limit != "") && !regexp.MustCompile(`\((\d+h)?(\d+m)?(\d+s)?`+limit+`\)`).MatchString(line) {
			w.t.Errorf("the line lacks the elapsed time: %q", line)
		}
	}
}

func keys(m map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (w *watched) truthful(line string) {
	if strings.Contains(line, "done") {
		w.t.Errorf("done: %q", line)
	}
	for _, m := range counted.FindAllStringSubmatch(line, -1) {
		if n, _ := strconv.Atoi(m[1]); n != w.good {
			w.t.Errorf("want %d finished objects in the line %q", w.good, line)
		}
	}
}

// in runs a story in a log, in virtual time.
func in(t *testing.T, seed uint64, report printer.Report, story func(w *watched)) []string {
	l := &log{}
	synctest.Test(t, func(t *testing.T) {
		p, err := printer.For(report, output.Options{Out: &strings.Builder{}, Err: l})
		if err != nil {
			t.Fatal(err)
		}
		story(&watched{t: t, log: l, p: p, random: rand.New(rand.NewPCG(seed, 8)), open: map[string]bool{}})
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return l.lines
}

func several(n int) []object.Ref {
	var refs []object.Ref
	for i := range n {
		refs = append(refs, ref("apps/v1", "Deployment", "prod", "web-"+strconv.Itoa(i)))
	}
	return refs
}

func planOf(refs []object.Ref, within time.Duration) event.Planned {
	return event.Planned{Phases: []event.Phase{{Name: "objects", Total: len(refs), Refs: refs}}, Within: within}
}

// Even if no event arrives, a log repeats what the run waits for, at growing intervals (edge case
// 91).
func TestLogRepeatsProgress(t *testing.T) {
	const limit = " of 5m"
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("apply ", seed), func(t *testing.T) {
			in(t, seed, printer.OfApply, func(w *watched) {
				refs := several(1 + w.random.IntN(5))
				w.say(event.Preparing{Text: "contacting the API server"})
				w.nothing(0, "")
				w.say(planOf(refs, 0))
				w.say(event.PhaseStarted{})
				for _, r := range refs {
					w.say(event.Started{Ref: r})
				}
				for _, i := range w.random.Perm(len(refs)) {
					w.nothing(0, "")
					action := []event.Action{event.Created, event.Failed}[w.random.IntN(2)]
					w.say(event.Applied{Ref: refs[i], Action: action})
				}
			})
		})
		t.Run(fmt.Sprint("apply and wait ", seed), func(t *testing.T) {
			in(t, seed, printer.OfApply, func(w *watched) {
				refs := several(1 + w.random.IntN(5))
				w.say(planOf(refs, 0))
				w.say(event.PhaseStarted{})
				for _, r := range refs {
					w.say(event.Applied{Ref: r, Action: event.Created})
				}
				w.say(event.Waiting{For: "3 objects to be ready", Within: 5 * time.Minute})
				w.nothing(0, limit)
				for _, r := range refs {
					w.say(event.Judged{Ref: r, Conditions: []event.Condition{{For: "ready", Message: "0 of 1 replicas"}}})
				}
				for _, i := range w.random.Perm(len(refs)) {
					w.good = len(refs) // those of applied objects
					w.nothing(0, limit)
					w.say(event.Waited{Ref: refs[i], Action: event.Met})
				}
			})
		})
		t.Run(fmt.Sprint("wait ", seed), func(t *testing.T) {
			in(t, seed, printer.OfWait, func(w *watched) {
				refs := several(1 + w.random.IntN(5))
				w.say(planOf(refs, 5*time.Minute))
				w.say(event.PhaseStarted{})
				w.nothing(0, limit)
				for _, r := range refs {
					w.say(event.Judged{Ref: r, Conditions: []event.Condition{{For: "ready", Message: "0 of 1 replicas"}}})
				}
				for _, i := range w.random.Perm(len(refs)) {
					w.nothing(0, limit)
					action := []event.Action{event.Met, event.TimedOut}[w.random.IntN(2)]
					w.say(event.Waited{Ref: refs[i], Action: action})
				}
			})
		})
		t.Run(fmt.Sprint("delete ", seed), func(t *testing.T) {
			in(t, seed, printer.OfDelete, func(w *watched) {
				refs := several(1 + w.random.IntN(5))
				w.say(planOf(refs, 0))
				w.say(event.PhaseStarted{})
				for _, r := range refs {
					w.say(event.Started{Ref: r, Within: 5 * time.Minute})
				}
				for _, i := range w.random.Perm(len(refs)) {
					w.nothing(0, limit)
					action := []event.Action{event.Gone, event.Remains}[w.random.IntN(2)]
					w.say(event.Deleted{Ref: refs[i], Action: action})
				}
			})
		})
	}
}

// If the API server is down for minutes, the log says how requests fail, and for how much longer
// the run retries (story 4).
func TestLogReportsOutageOfServer(t *testing.T) {
	lines := in(t, 1, printer.OfApply, func(w *watched) {
		w.say(event.Preparing{Text: "contacting the API server"})
		const whole = 10 * time.Minute
		for left := whole; left > 7*time.Minute; left -= 3 * time.Second {
			w.say(event.Retrying{Err: refused(), In: 3 * time.Second, Left: left, Of: whole})
			pass(3 * time.Second)
		}
		w.say(event.Reachable{})
		w.say(planOf(several(1), 0))
		w.say(event.PhaseStarted{})
	})
	if len(lines) < 6 || len(lines) > 9 {
		t.Errorf("%d lines in three minutes: %q", len(lines), lines)
	}
	for i, line := range lines[1 : len(lines)-1] {
		if !strings.HasPrefix(line, "waiting for the API server (") || !strings.HasSuffix(line, " of 10m): connection refused") {
			t.Errorf("line %d does not report the outage: %q", i+1, line)
		}
	}
	if last := lines[len(lines)-1]; last != "the API server is answering again" {
		t.Errorf("got last line %q, want that the API server is answering again", last)
	}
}

// Once a cause is known, the line about the wait shows the cause, at growing intervals, whatever
// the conditions say. The cause itself is printed again only when it changes.
func TestWaitLineShowsCause(t *testing.T) {
	cache, web := ref("apps/v1", "StatefulSet", "shop", "cache"), ref("apps/v1", "Deployment", "shop", "web")
	because := func(code string) event.Stalled {
		return event.Stalled{Ref: cache, Since: time.Now(), Causes: []event.Cause{{Code: code, Message: code + " it is"}}}
	}
	lines := in(t, 1, printer.OfApply, func(w *watched) {
		w.p.Print(planOf([]object.Ref{cache, web}, 0))
		w.p.Print(event.PhaseStarted{})
		w.p.Print(event.Applied{Ref: cache, Action: event.Created})
		w.p.Print(event.Applied{Ref: web, Action: event.Created})
		w.p.Print(event.Waiting{For: "2 objects to be ready", Within: 10 * time.Minute})
		for _, r := range []object.Ref{cache, web} {
			w.p.Print(event.Judged{Ref: r, Conditions: []event.Condition{{For: "ready", Message: "0 of 1 replicas"}}})
		}
		pass(5 * time.Second)
		for i := range 30 {
			w.p.Print(because("NoStorageClass"))
			w.p.Print(event.Judged{Ref: web, Conditions: []event.Condition{{For: "ready", Message: fmt.Sprint(i, " of 40 replicas")}}})
			pass(5 * time.Second)
		}
		w.p.Print(because("ImagePull"))
		pass(11 * time.Second)
	})
	want := []string{
		"no progress: statefulset.apps/cache -n shop", "    NoStorageClass: NoStorageClass it is",
		"waiting for statefulset.apps/cache -n shop (15s of 10m): NoStorageClass, +1 more",
		"waiting for statefulset.apps/cache -n shop (35s of 10m): NoStorageClass, +1 more",
		"waiting for statefulset.apps/cache -n shop (1m15s of 10m): NoStorageClass, +1 more",
		"waiting for statefulset.apps/cache -n shop (2m15s of 10m): NoStorageClass, +1 more",
		"no progress: statefulset.apps/cache -n shop", "    ImagePull: ImagePull it is",
		"waiting for statefulset.apps/cache -n shop (2m45s of 10m): ImagePull, +1 more",
	}
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], " for 0s")
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
}

// A result of a request that was answered before the outage does not prove that the server is up,
// nor does an object that is given up. The log reports an outage once, and its end once.
func TestOutageEndsWhenServerAnswers(t *testing.T) {
	outage := event.Retrying{Err: refused(), Left: 30 * time.Second}
	lines := in(t, 1, printer.OfApply, func(w *watched) {
		for _, e := range []event.Event{
			phases(),
			event.PhaseStarted{},
			outage,
			event.Applied{Ref: config("a"), Action: event.Created},
			outage,
			event.Applied{Ref: config("b"), Action: event.Failed, Err: refused()},
			event.Preparing{Text: "looking for causes"},
			event.Retrying{Err: io.EOF, Left: 20 * time.Second},
			event.Reachable{},
			event.Applied{Ref: config("c"), Action: event.Created},
		} {
			w.say(e)
			pass(time.Second)
		}
	})
	if text := strings.Join(lines, "\n"); strings.Count(text, "does not answer") != 1 || strings.Count(text, "is answering again") != 1 {
		t.Errorf("%s", text)
	}
}

// No progress about an object is printed after the object's result. Nothing is printed between two
// adjacent results, even if the results come late.
func TestNoProgressAfterResult(t *testing.T) {
	lines := in(t, 1, printer.OfWait, func(w *watched) {
		refs := several(4)
		w.say(planOf(refs, 8*time.Second))
		w.say(event.PhaseStarted{})
		pass(8 * time.Second)
		for _, r := range refs {
			w.say(event.Waited{Ref: r, Action: event.TimedOut})
			pass(time.Second)
		}
	})
	for _, line := range lines {
		if counted.MatchString(line) && !strings.Contains(line, "0 of 4 met") {
			t.Errorf("%q", line)
		}
	}
}

// A terminal and a log describe a wait in the same words: what the run waits for, and for how long.
func TestTerminalShowsElapsedTime(t *testing.T) {
	watch(t, printer.OfWait, columns(120), func(term *terminal, p *printer.Printer) {
		refs := several(2)
		p.Print(planOf(refs, 5*time.Minute))
		p.Print(event.PhaseStarted{})
		p.Print(event.Judged{Ref: refs[0], Conditions: []event.Condition{{For: "ready", Message: "0 of 1 replicas"}}})
		pass(90 * time.Second)
		const want = "deployment.apps/web-0 -n prod (1m30s of 5m): 0 of 1 replicas"
		if got := term.bottom(); !strings.Contains(got, want) {
			t.Errorf("got %q, want it to contain %q", got, want)
		}
	})
}
