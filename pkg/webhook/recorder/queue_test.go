package recorder

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// diary describes a queue as text: when it writes, and which outcomes it reports.
type diary struct {
	*queue
	text    []string
	settled int
	now     time.Time
}

// quick returns a pace that never delays.
func quick() pace { return newPace(1e6, 1e6) }

func (d *diary) come(object, user string, at time.Duration) {
	n := pendingTransition{Occasion: ownership.Occasion{User: user}, settled: func(ownership.Outcome) { d.settled++ }}
	d.add(ownership.Object{UID: types.UID(object)}, n, noon.Add(at))
}

// run writes everything that is due before a given time, with the given outcome.
func (d *diary) run(until time.Duration, ends outcome) {
	d.now = latest(d.now, noon)
	for {
		at, ok := d.nextDue(d.now)
		if !ok || at.After(noon.Add(until)) {
			break
		}
		d.now = latest(d.now, at)
		b, ok := d.dequeue(d.now)
		if again, _ := d.nextDue(d.now); !ok && again.After(d.now) {
			continue // It is held back, and due later.
		}
		if !ok {
			break
		}
		d.text = append(d.text, fmt.Sprintf("%s: %s %d", d.now.Sub(noon), b.object.UID, len(b.transitions)))
		d.answer(b, ends, d.now)
	}
	d.now = noon.Add(until)
	d.expire(d.now)
	for _, call := range d.settledNow() {
		call()
	}
}

func TestQueue(t *testing.T) {
	every := func(step time.Duration, until time.Duration, object, user string) func(*diary) {
		return func(d *diary) {
			for at := time.Duration(0); at < until; at += step {
				d.run(at, written)
				d.come(object, user, at)
			}
		}
	}
	tests := map[string]struct {
		leads   bool
		happens func(*diary)
		until   time.Duration // 1h where it is zero
		want    string
		settled int
	}{
		"first change is written at once with the rest of its write": {
			happens: func(d *diary) { d.come("a", "alice", 0); d.come("a", "alice", time.Millisecond) },
			want:    "200ms: a 2", settled: 2,
		},
		"without a user: the leader writes a little later": {
			leads: true, happens: func(d *diary) { d.come("a", "", 0) },
			want: "3s: a 1", settled: 1,
		},
		"without a user: other replicas do not write": {
			happens: func(d *diary) { d.come("a", "", 0) }, until: 19 * time.Minute,
		},
		"without a user: dropped eventually": {
			happens: func(d *diary) { d.come("a", "", 0) }, until: 21 * time.Minute, settled: 1,
		},
		"without a user: a new leader writes": {
			happens: func(d *diary) { d.come("a", "", 0); d.run(5*time.Minute, written); d.lead(true) },
			want:    "5m0s: a 1", settled: 1,
		},
		"a change without a hint is written with one that has a hint": {
			happens: func(d *diary) { d.come("a", "", 0); d.come("a", "alice", time.Second) },
			want:    "1.2s: a 2", settled: 2,
		},
		"a fight": {
			happens: every(time.Second, 3*time.Minute, "a", "alice"),
			want:    "200ms: a 1, 10.2s: a 10, 30.2s: a 20, 1m10.2s: a 40, 2m30.2s: a 80, 5m10.2s: a 29", settled: 180,
		},
		"a fight that fills its object's queue before the pause ends": {
			happens: every(100*time.Millisecond, time.Minute, "a", "alice"),
			want:    "200ms: a 2, 10.2s: a 100, 22.9s: a 128, 35.7s: a 128, 48.5s: a 128, 3m28.5s: a 114", settled: 600,
		},
		"a fight, then a pause": {
			happens: func(d *diary) {
				every(time.Second, 15*time.Second, "a", "alice")(d)
				d.run(10*time.Minute, written)
				d.come("a", "alice", 10*time.Minute)
			},
			want: "200ms: a 1, 10.2s: a 10, 30.2s: a 4, 10m0.2s: a 1", settled: 16,
		},
		"two objects do not wait for each other": {
			happens: func(d *diary) { d.come("a", "alice", 0); d.come("b", "alice", 0); d.come("a", "bob", time.Second) },
			want:    "200ms: a 2, 200ms: b 1", settled: 3,
		},
		"its object is gone": {
			happens: func(d *diary) { d.come("a", "alice", 0); d.run(time.Second, gone) },
			want:    "200ms: a 1", settled: 1,
		},
		"already recorded by another replica": {
			leads: true,
			happens: func(d *diary) {
				d.come("a", "", 0)
				d.run(4*time.Second, known)
				d.come("a", "alice", 5*time.Second)
			},
			want: "3s: a 1, 5.2s: a 1", settled: 2,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := &diary{queue: newQueue(Limits{}, quick())}
			d.lead(tt.leads)
			tt.happens(d)
			if tt.until == 0 {
				tt.until = time.Hour
			}
			d.run(tt.until, written)
			if diff := cmp.Diff(tt.want, strings.Join(d.text, ", ")); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if d.settled != tt.settled || d.lost != 0 {
				t.Errorf("%d settled, %d lost", d.settled, d.lost)
			}
			if d.out > 0 {
				t.Errorf("got %d transitions still out, want none", d.out)
			}
		})
	}
}

// A refused write is retried at growing intervals. After an hour, the queue gives up, and the next
// write mentions the loss.
func TestQueueRefused(t *testing.T) {
	d := &diary{queue: newQueue(Limits{}, quick())}
	d.lead(true)
	d.come("a", "alice", 0)
	d.run(2*time.Minute, refused)
	want := "200ms: a 1, 1.2s: a 1, 3.2s: a 1, 7.2s: a 1, 15.2s: a 1, 31.2s: a 1, 1m3.2s: a 1"
	if diff := cmp.Diff(want, strings.Join(d.text, ", ")); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	if !d.isRefused() || d.settled != 0 {
		t.Errorf("refused: %v, %d settled", d.isRefused(), d.settled)
	}
	d.run(2*time.Hour, refused)
	if d.isRefused() || d.settled != 1 || d.lost != 1 || d.transitions != 0 || len(d.objects) != 0 {
		t.Errorf("after two hours: refused %v, %d settled, %d lost, %d notes, %d objects", d.isRefused(), d.settled, d.lost, d.transitions, len(d.objects))
	}
	d.come("a", "alice", 3*time.Hour)
	b, ok := d.dequeue(noon.Add(4 * time.Hour))
	if !ok || b.lost.count != 1 || len(b.transitions) != 1 {
		t.Errorf("got next write %+v, want one transition and one loss", b)
	}
}

// A replica that does not lead drops the leader's transitions before its own.
func TestQueueKeepsOwnTransitions(t *testing.T) {
	d := &diary{queue: newQueue(Limits{Objects: 10, Transitions: 50, PerObject: 20}, quick())}
	for n := range 1000 {
		d.come(fmt.Sprint("theirs", n%100), "", 0)
	}
	d.come("ours", "alice", 0)
	d.run(time.Second, written)
	if diff := cmp.Diff([]string{"200ms: ours 1"}, d.text); diff != "" || d.lost > 0 {
		t.Errorf("%d lost; writes (-want +got):\n%s", d.lost, diff)
	}
}

// Edge case 82: at the end, all pending transitions are returned, whether or not they are due,
// except for those that the leader writes.
func TestQueueDrain(t *testing.T) {
	d := &diary{queue: newQueue(Limits{}, quick())}
	d.come("a", "alice", 0)
	d.run(time.Second, written)
	d.come("a", "alice", 2*time.Second)
	d.come("b", "", 3*time.Second)
	texts := func() (out []string) {
		for _, b := range d.drain() {
			out = append(out, string(b.object.UID))
			d.answer(b, refused, noon)
		}
		return out
	}
	if diff := cmp.Diff([]string{"a"}, texts()); diff != "" {
		t.Errorf("not as leader (-want +got):\n%s", diff)
	}
	d.lead(true)
	if diff := cmp.Diff([]string{"a", "b"}, texts()); diff != "" {
		t.Errorf("as leader (-want +got):\n%s", diff)
	}
}

// A note of another process is joined to the pending transition: its user and verdict are added,
// and the two are settled together. A note without a pending transition is inserted before later
// versions.
func TestNotesOfOtherReplicas(t *testing.T) {
	q := newQueue(Limits{}, newPace(10, 10))
	o := ownership.Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "n", Name: "x", UID: "1"}
	settled := 0
	add := func(version, user string, kind ownership.Kind, noted bool) {
		q.add(o, pendingTransition{
			Transition: ownership.Transition{Path: fieldpath.Field("data", "a"), Kind: kind, Before: []managedfields.Owner{{Manager: "argo"}}, After: []managedfields.Owner{{Manager: "flux"}}},
			Occasion:   ownership.Occasion{ResourceVersion: version, User: user, Noted: noted},
			settled:    func(ownership.Outcome) { settled++ },
		}, noon)
	}
	add("7", "", ownership.Lost, false)
	add("7", "alice", ownership.Taken, true)
	add("5", "bob", ownership.Taken, true)
	p := q.objects["1"]
	if len(p.transitions) != 2 || p.transitions[0].User != "bob" || p.transitions[1].User != "alice" || p.transitions[1].Kind != ownership.Taken || p.ours() {
		t.Fatalf("pending: %+v", p.transitions)
	}
	q.lead(true)
	b, ok := q.dequeue(noon.Add(time.Minute))
	if !ok {
		t.Fatal("nothing is due for a leader")
	}
	q.answer(b, written, noon.Add(time.Minute))
	for _, call := range q.settledNow() {
		call()
	}
	if settled != 3 {
		t.Errorf("%d are settled", settled)
	}
}
