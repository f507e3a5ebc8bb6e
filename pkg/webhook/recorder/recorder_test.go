package recorder_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/recorder"
)

// desk is a recorder in virtual time, together with everything to which the recorder writes.
type desk struct {
	*recorder.Recorder
	*handle
	settled atomic.Int64
	events  notebook
	log     notebook
	lines   notebook
	version int
	end     func()
}

func (d *desk) Eventf(object runtime.Object, eventtype, reason, text string, args ...any) {
	o := object.(*corev1.ObjectReference)
	fmt.Fprintf(&d.events, "%s %s on %s/%s: %s\n", eventtype, reason, o.Kind, o.Name, fmt.Sprintf(text, args...))
}

// notebook collects writes from any goroutine.
type notebook struct {
	mu      sync.Mutex
	content bytes.Buffer
}

func (n *notebook) Write(text []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.content.Write(text)
}

func (n *notebook) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.content.String()
}

func (n *notebook) clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.content.Reset()
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, opts recorder.Options, test func(t *testing.T, d *desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{handle: &handle{memory: newMemory()}, version: 100}
		opts.Namespace, opts.Events = "k8sconnect", d
		opts.Log, opts.Transitions = slog.New(slog.NewTextHandler(&d.log, nil)), &d.lines
		d.Recorder = recorder.New(d.handle, opts)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- d.Run(ctx) }()
		d.end = sync.OnceFunc(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		test(t, d)
		d.end()
	})
}

// report sends a transition of an object to the recorder.
func (d *desk) report(object, user string, tr ownership.Transition) {
	d.version++
	d.record(object, tr, ownership.Occasion{ResourceVersion: fmt.Sprint(d.version), Time: time.Now(), User: user})
}

func (d *desk) record(object string, tr ownership.Transition, at ownership.Occasion) {
	d.Record(ownership.Occurrence{
		Object:     ownership.Object{APIVersion: "v1", Kind: "Thing", Namespace: "prod", Name: object, UID: types.UID(object)},
		Transition: tr, Occasion: at,
	}, func(ownership.Outcome) { d.settled.Add(1) })
}

// entries returns the entries of all records, one per line.
func (d *desk) entries() []string {
	var out []string
	for _, r := range d.all() {
		for _, e := range r.Entries {
			out = append(out, fmt.Sprintf("%s: %s ×%d %s", r.Object.Name, e, e.Count, e.User))
		}
	}
	return out
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// A transition in which no owner lost anything is settled at once, and nothing is written for it
// (edge case 81).
func TestUncontested(t *testing.T) {
	inBubble(t, recorder.Options{}, func(t *testing.T, d *desk) {
		d.Lead(true)
		for _, kind := range []ownership.Kind{ownership.Claimed, ownership.Shared, ownership.Removed, ownership.Unclear} {
			tr := taken("a", 0, 1)
			tr.Kind = kind
			d.report("web", "alice", tr)
		}
		if d.settled.Load() != 4 {
			t.Errorf("%d are settled", d.settled.Load())
		}
		after(time.Hour)
		if d.writes.Load() > 0 || d.events.text() != "" {
			t.Errorf("%d writes, events %s", d.writes.Load(), d.events.text())
		}
	})
}

// The first takeover of a field gets an Event. Repetitions only increase the count in the record.
func TestEvents(t *testing.T) {
	inBubble(t, recorder.Options{}, func(t *testing.T, d *desk) {
		for n := range 7 {
			d.report("web", "alice", taken(fmt.Sprint("p", n), 0, 1))
		}
		released := taken("r", 0, 1)
		released.Kind = ownership.Released
		d.report("web", "alice", released)
		after(time.Hour)
		for n := range 30 {
			d.report("web", "alice", taken("p0", n%2, 1-n%2))
			after(time.Second)
		}
		after(time.Hour)
		d.report("web", "alice", taken("p0", 0, 2))
		after(time.Hour)
		var first []string
		for n := range 5 {
			first = append(first, fmt.Sprintf(".spec.p%d taken from argo (Apply) by flux (Apply)", n))
		}
		want := []string{
			"Warning FieldOwnershipTaken on Thing/web: " + strings.Join(first, "; ") + "; +2 more",
			"Warning FieldOwnershipTaken on Thing/web: .spec.p0 taken from argo (Apply) by helm (Apply)",
		}
		if diff := cmp.Diff(strings.Join(want, "\n")+"\n", d.events.text()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// The message of an Event stays within the limit, however long the names in it are.
func TestEventText(t *testing.T) {
	for name, length := range map[string]int{"long": 300, "too long": 5000} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, recorder.Options{}, func(t *testing.T, d *desk) {
				for n := range 20 {
					tr := taken(fmt.Sprint(n, strings.Repeat("x", length)), 0, 1)
					for range 16 {
						tr.After = append(tr.After, managedfields.Owner{Manager: strings.Repeat("m", length/10), Operation: "Apply"})
					}
					d.report("web", "alice", tr)
				}
				after(time.Minute)
				_, text, _ := strings.Cut(d.events.text(), ": ")
				if len(text) > 1025 || !strings.Contains(text, "20") && !strings.Contains(text, "more") {
					t.Errorf("%d bytes: %s", len(text), text)
				}
			})
		})
	}
}

// Edge case 81: if many objects change at once, records are written at the configured rate, after a
// first burst.
func TestWriteRate(t *testing.T) {
	inBubble(t, recorder.Options{WritesPerSecond: 5, Burst: 100}, func(t *testing.T, d *desk) {
		for n := range 1000 {
			d.report(fmt.Sprint("o", n), "alice", taken("a", 0, 1))
		}
		after(time.Second)
		if n := d.writes.Load(); n < 100 || n > 105 {
			t.Errorf("%d writes in the first second", n)
		}
		after(99 * time.Second)
		if n := d.writes.Load(); n < 595 || n > 605 {
			t.Errorf("%d writes in 100 seconds", n)
		}
		if n := d.metric(t, "k8sconnect_records_behind_seconds"); n < 99 || n > 101 {
			t.Errorf("k8sconnect_records_behind_seconds is %g, want about 100", n)
		}
		after(100 * time.Second)
		if d.writes.Load() != 1000 || d.settled.Load() != 1000 || d.metric(t, "k8sconnect_records_behind_seconds") != 0 {
			t.Errorf("%d writes, %d settled", d.writes.Load(), d.settled.Load())
		}
	})
}

// An entry's first user is written at once, even if its object was written just before, because a
// kill would lose the user. Later users wait.
func TestFirstUser(t *testing.T) {
	inBubble(t, recorder.Options{}, func(t *testing.T, d *desk) {
		d.report("web", "alice", taken("a", 0, 1))
		after(time.Second)
		for n := range 3 {
			d.report("web", "bob", taken("a", 1-n%2, n%2))
			d.report("web", "carol", taken(fmt.Sprint("b", n), 0, 1))
			after(2 * time.Second)
			last := d.entries()[len(d.entries())-1]
			if want := fmt.Sprintf("web: .spec.b%d taken from argo (Apply) by flux (Apply) ×1 carol", n); last != want {
				t.Errorf("%s, not %s", last, want)
			}
		}
		writes := d.writes.Load()
		for n := range 4 {
			d.report("web", "bob", taken("a", n%2, 1-n%2))
			after(time.Second)
		}
		if d.writes.Load() != writes {
			t.Errorf("a repetition is written %d times in four seconds", d.writes.Load()-writes)
		}
	})
}

// Edge case 82: a replica that ends in a rolling update first writes everything that it knows. This
// includes transitions that wait for a pause, for the rate, or for another replica.
func TestEndWritesPendingTransitions(t *testing.T) {
	inBubble(t, recorder.Options{}, func(t *testing.T, d *desk) {
		d.Lead(true)
		d.report("web", "alice", taken("a", 0, 1))
		after(time.Second)
		d.report("web", "bob", taken("a", 1, 0))
		d.report("db", "", taken("a", 0, 1))
		for n := range 100 {
			d.report(fmt.Sprint("o", n), "alice", taken("a", 0, 1))
		}
		began := time.Now()
		d.end()
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s", took)
		}
		got := d.entries()
		want := []string{"db: .spec.a taken from argo (Apply) by flux (Apply) ×1 ", "web: .spec.a taken from flux (Apply) by argo (Apply) ×2 bob"}
		if diff := cmp.Diff(want, []string{got[0], got[len(got)-1]}); diff != "" || len(got) != 102 || d.settled.Load() != 103 {
			t.Errorf("%d records, %d settled (-want +got):\n%s", len(got), d.settled.Load(), diff)
		}
	})
}

// The recorder's end does not wait long for a server that does not answer.
func TestEndWithoutServer(t *testing.T) {
	inBubble(t, recorder.Options{FlushTimeout: 3 * time.Second}, func(t *testing.T, d *desk) {
		d.misbehave(func(string) error { time.Sleep(time.Second); return errDown })
		for n := range 100 {
			d.report(fmt.Sprint("o", n), "alice", taken("a", 0, 1))
		}
		began := time.Now()
		d.end()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %s", took)
		}
		if d.settled.Load() != 0 {
			t.Errorf("%d settled", d.settled.Load())
		}
	})
}

// Record never blocks, even if the store hangs.
func TestNeverBlocks(t *testing.T) {
	inBubble(t, recorder.Options{Limits: recorder.Limits{Objects: 1000, Transitions: 2000}}, func(t *testing.T, d *desk) {
		free := make(chan struct{})
		d.misbehave(func(string) error { <-free; return nil })
		began := time.Now()
		for n := range 5000 {
			d.report(fmt.Sprint("o", n), "alice", taken("a", 0, 1))
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %s", took)
		}
		close(free)
	})
}

// metric returns the value of the metric with these labels; zero if there is no such metric.
func (d *desk) metric(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := d.Register(registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if f.GetName() == name && slices.Equal(values, labels) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// Every transition is logged, in order, whether or not it is recorded.
func TestTransitionLog(t *testing.T) {
	inBubble(t, recorder.Options{}, func(t *testing.T, d *desk) {
		for n := range 1000 {
			tr := taken("a", n%2, 1-n%2)
			if n%3 == 0 {
				tr.Kind, tr.Why = ownership.Unclear, ownership.SameValue
			}
			d.report("web", "alice", tr)
		}
		d.end()
		lines := strings.Split(strings.TrimSuffix(d.lines.text(), "\n"), "\n")
		if len(lines) != 1000 {
			t.Fatalf("%d lines", len(lines))
		}
		for n, l := range lines {
			var got struct{ ResourceVersion string }
			if err := json.Unmarshal([]byte(l), &got); err != nil || got.ResourceVersion != fmt.Sprint(101+n) {
				t.Fatalf("line %d: %s, %v", n, l, err)
			}
		}
		want := `{"time":"2000-01-01T00:00:00Z","apiVersion":"v1","kind":"Thing","namespace":"prod","name":"web","uid":"web",` +
			`"resourceVersion":"102","path":".spec.a","transition":"taken",` +
			`"from":[{"manager":"flux","operation":"Apply","apiVersion":"v1"}],"to":[{"manager":"argo","operation":"Apply","apiVersion":"v1"}],` +
			`"forced":true,"user":"alice"}`
		if diff := cmp.Diff(want, lines[1]); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}
	})
}

// A transition that is left to the leader is dropped eventually, even if nothing else happens.
func TestLeftTransitionsAreDroppedEventually(t *testing.T) {
	inBubble(t, recorder.Options{}, func(t *testing.T, d *desk) {
		d.report("db", "", taken("a", 0, 1))
		after(10 * time.Minute)
		if n := d.metric(t, "k8sconnect_records_pending"); n != 1 {
			t.Errorf("got %g transitions pending after 10 minutes, want 1", n)
		}
		after(time.Hour)
		if n := d.metric(t, "k8sconnect_records_pending"); n != 0 {
			t.Errorf("got %g transitions pending after an hour, want none", n)
		}
	})
}

func TestMetrics(t *testing.T) {
	inBubble(t, recorder.Options{}, func(t *testing.T, d *desk) {
		d.report("web", "alice", taken("a", 0, 1))
		unclear := taken("b", 0, 1)
		unclear.Kind, unclear.Why = ownership.Unclear, ownership.CrossVersion
		d.report("web", "alice", unclear)
		after(time.Minute)
		d.report("db", "", taken("a", 0, 1))
		got := []float64{
			d.metric(t, "k8sconnect_ownership_transitions_total", "taken", ""),
			d.metric(t, "k8sconnect_ownership_transitions_total", "unclear", "cross-version"),
			d.metric(t, "k8sconnect_records_written_total"),
			d.metric(t, "k8sconnect_records_pending"),
			d.metric(t, "k8sconnect_records_lost_total"),
		}
		if diff := cmp.Diff([]float64{2, 1, 1, 1, 0}, got); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}
