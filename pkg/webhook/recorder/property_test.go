package recorder

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// fate is the true outcome of one transition.
type fate struct {
	came time.Time
	// stored means that the transition is in a record, or that its object no longer exists.
	stored bool
	ended  bool
	ending ownership.Outcome
}

// trial sends random events to a queue, and knows the fate of each transition.
type trial struct {
	*testing.T
	*queue
	random *rand.Rand
	now    time.Time
	fates  []*fate
	// down is the time until which all writes are refused. refusedSince has, for each object, the
	// time of the first refusal since the object was last written.
	down         time.Time
	refusedSince map[types.UID]time.Time
	full         bool // a bound was reached since the last look
	tired        bool // so was the time for which a refused write is tried again
}

func (tr *trial) come() {
	f := &fate{came: tr.now}
	id := len(tr.fates)
	tr.fates = append(tr.fates, f)
	object := tr.random.IntN(30)
	o := ownership.Object{UID: types.UID(fmt.Sprint("o", object)), Namespace: fmt.Sprint("n", object*object%7)}
	n := pendingTransition{
		Transition: taken(fmt.Sprint("p", tr.random.IntN(3))),
		Occasion:   ownership.Occasion{ResourceVersion: fmt.Sprint(1000 + id), Time: tr.now},
	}
	if tr.random.IntN(2) == 0 {
		n.User = "alice"
	}
	ours := n.ours()
	n.settled = func(ending ownership.Outcome) {
		if f.ended {
			tr.Fatalf("note %d ends twice: %d, then %d", id, f.ending, ending)
		}
		f.ended, f.ending = true, ending
		switch ending {
		case ownership.OutcomeRecorded:
			if !f.stored {
				tr.Fatalf("note %d counts as recorded, but is in no record", id)
			}
		case ownership.OutcomeCounted:
			if !tr.leads || !tr.full || tr.objects[o.UID].lost.count == 0 {
				tr.Fatalf("note %d counts as counted (leading %t, full %t)", id, tr.leads, tr.full)
			}
		case ownership.OutcomeLeft:
			if tr.leads || ours && !tr.full && !tr.tired {
				tr.Fatalf("note %d is left to the leader (leading %t, ours %t, full %t)", id, tr.leads, ours, tr.full)
			}
		case ownership.OutcomeLost:
			if !tr.leads || !tr.full && !tr.tired {
				tr.Fatalf("note %d is lost (leading %t, full %t)", id, tr.leads, tr.full)
			}
		}
	}
	before := len(tr.objects) >= tr.limits.Objects || tr.transitions >= tr.limits.Transitions
	if p := tr.objects[o.UID]; p != nil && len(p.transitions) >= tr.limits.PerObject {
		before = true
	}
	tr.full = tr.full || before
	tr.add(o, n, tr.now)
	tr.settled()
}

// settled makes the calls of what ended by the last event, before another event changes the queue.
func (tr *trial) settled() {
	for _, call := range tr.settledNow() {
		call()
	}
}

func taken(path string) ownership.Transition {
	owner := func(name string) []managedfields.Owner {
		return []managedfields.Owner{{Manager: name, Operation: "Apply", APIVersion: "v1"}}
	}
	return ownership.Transition{Path: fieldpath.Field("spec", path), Kind: ownership.Taken, Before: owner("a"), After: owner("b")}
}

func (tr *trial) stored(transitions []pendingTransition) {
	for _, n := range transitions {
		id, _ := strconv.Atoi(n.ResourceVersion)
		tr.fates[id-1000].stored = true
	}
}

// write answers the batches that are due.
func (tr *trial) write() {
	for {
		b, ok := tr.dequeue(tr.now)
		if !ok {
			return
		}
		if !tr.now.Before(tr.down) {
			delete(tr.refusedSince, b.object.UID)
		}
		switch {
		case tr.now.Before(tr.down):
			tr.full = tr.full || tr.transitions+len(b.transitions) >= tr.limits.Transitions
			since, ok := tr.refusedSince[b.object.UID]
			if !ok {
				since = tr.now
				tr.refusedSince[b.object.UID] = since
			}
			if tr.now.Sub(since) >= giveUp {
				tr.tired = true
				delete(tr.refusedSince, b.object.UID)
			}
			tr.answer(b, refused, tr.now)
			tr.settled()
			continue
		case tr.random.IntN(20) == 0:
			tr.stored(b.transitions)
			if p := tr.objects[b.object.UID]; p != nil {
				tr.stored(p.transitions)
			}
			tr.answer(b, gone, tr.now)
			tr.settled()
			continue
		}
		tr.stored(b.transitions)
		tr.answer(b, []outcome{written, known}[tr.random.IntN(2)], tr.now)
		tr.settled()
	}
}

// peer simulates another replica that writes all or some of the pending transitions of an object.
func (tr *trial) peer() {
	for _, uid := range slices.Sorted(maps.Keys(tr.objects)) {
		p := tr.objects[uid]
		if len(p.transitions) == 0 {
			continue
		}
		r := ownership.NewRecord(p.object, "none")
		some := p.transitions[:1+tr.random.IntN(len(p.transitions))]
		for _, n := range some {
			n.User = "alice"
			r.Add(n.Transition, n.Occasion)
		}
		// A transition that is older than the record's memory counts as recorded.
		for _, n := range p.transitions {
			if !r.DeepCopy().Add(n.Transition, n.Occasion) {
				tr.stored([]pendingTransition{n})
			}
		}
		tr.seen(r, false, tr.now)
		tr.settled()
		return
	}
}

func (tr *trial) look() {
	tr.settled()
	if len(tr.objects) > tr.limits.Objects || tr.transitions > tr.limits.Transitions || len(tr.gaps) > tr.limits.Objects || len(tr.cooldowns) > tr.limits.Objects {
		tr.Fatalf("%d objects, %d notes, %d gaps, %d cooldowns exceed the limits", len(tr.objects), tr.transitions, len(tr.gaps), len(tr.cooldowns))
	}
	maps.DeleteFunc(tr.refusedSince, func(uid types.UID, _ time.Time) bool { return tr.objects[uid] == nil })
	transitions, theirs, inLanes := 0, 0, 0
	for _, p := range tr.objects {
		transitions += len(p.transitions)
		if len(p.transitions) > tr.limits.PerObject || len(p.transitions) == 0 {
			tr.Fatalf("%d notes of one object", len(p.transitions))
		}
		for _, n := range p.transitions {
			if !n.ours() {
				theirs++
			}
		}
		if (tr.leads || p.ours()) != (p.lane != nil) {
			tr.Fatalf("%s is in no lane, or in a lane without reason", p.object.UID)
		}
	}
	for _, l := range tr.lanes.of {
		inLanes += l.transitions
	}
	if transitions != tr.transitions || theirs != tr.theirs || inLanes != transitions || tr.out != 0 {
		tr.Fatalf("%d notes, counted %d and %d; %d of others, counted %d; %d out", transitions, tr.transitions, inLanes, theirs, tr.theirs, tr.out)
	}
	tr.full, tr.tired = false, false
}

// Edge cases 81 and 99: each transition has exactly one outcome, in any sequence of events. A
// recorded one is in the record. Only the leader loses a transition, for lack of capacity or after an
// hour of refusals. Any other transition is left to the leader.
func TestEachTransitionHasOneOutcome(t *testing.T) {
	endings := map[ownership.Outcome]int{}
	seeds, enough := uint64(300), 100
	if testing.Short() {
		seeds, enough = 60, 20
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 7))
		limits := Limits{Objects: 3 + random.IntN(30), Transitions: 10 + random.IntN(100), PerObject: 2 + random.IntN(20)}
		tr := &trial{T: t, random: random, now: noon, refusedSince: map[types.UID]time.Time{}, queue: newQueue(limits, newPace(float64(1+random.IntN(20)), 1+random.IntN(50)))}
		if tr.lead(random.IntN(2) == 0); seed == 0 {
			tr.lead(true)
		}
		for range 400 {
			switch n := random.IntN(100); {
			case n < 55:
				tr.come()
			case n < 60:
				tr.peer()
			case n < 61:
				tr.down = tr.now.Add(time.Duration(random.IntN(200)) * time.Minute)
			case n < 62 && !tr.leads:
				tr.lead(true)
			case n < 64:
				tr.now = tr.now.Add(time.Duration(random.ExpFloat64() * float64(10*time.Minute)))
			default:
				tr.now = tr.now.Add(time.Duration(random.ExpFloat64() * float64(time.Second)))
			}
			tr.write()
			tr.look()
		}
		for range 400 {
			tr.now = tr.now.Add(time.Minute)
			tr.write()
			tr.look()
		}
		for id, f := range tr.fates {
			if !f.ended {
				t.Fatalf("seed %d: note %d of %s never ended", seed, id, f.came.Sub(noon))
			}
			endings[f.ending]++
		}
	}
	for ending := range ownership.OutcomeLost + 1 {
		if endings[ending] < enough {
			t.Errorf("only %d notes have the outcome %d, want more", endings[ending], ending)
		}
	}
}

// Edge case 100: a flood in one namespace does not delay records in another, and two floods share
// the rate.
func TestNamespacesTakeTurns(t *testing.T) {
	for _, user := range []string{"alice", ""} {
		d := &diary{queue: newQueue(Limits{}, newPace(10, 500))}
		d.lead(true)
		at := func(namespace, object string, when time.Duration) {
			d.add(ownership.Object{UID: types.UID(object), Namespace: namespace}, pendingTransition{Occasion: ownership.Occasion{User: user}}, noon.Add(when))
		}
		for n := range 10_000 {
			at("flood", fmt.Sprint("flood-", n), time.Duration(n)*time.Millisecond)
			at("other", fmt.Sprint("other-", n), time.Duration(n)*time.Millisecond)
		}
		at("quiet", "quiet", 10*time.Second)
		d.run(30*time.Second, written)
		i := slices.IndexFunc(d.text, func(l string) bool { return l[len(l)-7:] == "quiet 1" })
		if i < 0 {
			t.Fatal("not written in 20 seconds")
		}
		var when string
		_, _ = fmt.Sscan(d.text[i], &when)
		took, _ := time.ParseDuration(when[:len(when)-1])
		if wait := took - 10*time.Second; wait > grace+time.Second {
			t.Errorf("user %q: written after %s, which is too late", user, wait)
		}
		count := map[string]int{}
		for _, l := range d.text {
			var when, object string
			_, _ = fmt.Sscan(l, &when, &object)
			count[object[:5]]++
		}
		if total := count["flood"] + count["other"]; total < 500 || count["flood"]-count["other"] > 1 || count["other"]-count["flood"] > 1 {
			t.Errorf("%v", count)
		}
	}
}

// Edge case 100: a flood beyond the capacity does not displace transitions of other
// namespaces.
func TestFloodDisplacesOnlyItself(t *testing.T) {
	d := &diary{queue: newQueue(Limits{Objects: 100, Transitions: 150}, newPace(10, 1))}
	d.lead(true)
	lost := map[string]int{}
	for n := range 1000 {
		namespace := "flood"
		if n%100 == 50 {
			namespace = "quiet"
		}
		d.add(ownership.Object{UID: types.UID(fmt.Sprint(n / 2)), Namespace: namespace}, pendingTransition{
			Transition: taken("a"), Occasion: ownership.Occasion{User: "alice", ResourceVersion: fmt.Sprint(n)},
			settled: func(o ownership.Outcome) {
				if o == ownership.OutcomeLost {
					lost[namespace]++
				}
			},
		}, noon)
		for _, call := range d.settledNow() {
			call()
		}
	}
	if lost["quiet"] > 0 || lost["flood"] < 800 || lost["flood"] != d.lost {
		t.Errorf("lost: %v, counted %d", lost, d.lost)
	}
}

// A leader without a hint leaves a change to a replica that is about to write it. It writes changes
// that the replica has skipped, and all changes if the replica stops writing.
func TestLeaderHoldsChanges(t *testing.T) {
	tests := map[string]struct {
		lag    time.Duration // of the other's latest write that was seen, a second after noon
		silent bool
		want   string
	}{
		"no other replica writes":              {silent: true, want: "3s: a 1"},
		"another replica is far behind":        {lag: 10 * time.Minute, want: "11s: a 1"}, // and then falls silent
		"another replica is almost up to date": {lag: 2 * time.Second, want: "5s: a 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := &diary{queue: newQueue(Limits{}, quick())}
			d.lead(true)
			d.come("a", "", 0)
			if !tt.silent {
				r := ownership.NewRecord(ownership.Object{UID: "b"}, "none")
				r.Entries = []ownership.Entry{{Last: metav1.NewTime(noon.Add(time.Second - tt.lag))}}
				d.seen(r, false, noon.Add(time.Second))
			}
			d.run(time.Hour, written)
			if len(d.text) != 1 || d.text[0] != tt.want {
				t.Errorf("%v, want %s", d.text, tt.want)
			}
		})
	}
}

// If another replica's clock is wrong by hours, the leader does not wait for hours.
func TestHoldWithWrongClock(t *testing.T) {
	for _, off := range []time.Duration{-3 * time.Hour, 3 * time.Hour} {
		d := &diary{queue: newQueue(Limits{}, quick())}
		d.lead(true)
		d.come("a", "", 0)
		at := time.Duration(0)
		for ; at < time.Hour && len(d.text) == 0; at += time.Second {
			r := ownership.NewRecord(ownership.Object{UID: "b"}, "none")
			r.Entries = []ownership.Entry{{Last: metav1.NewTime(noon.Add(at + off))}}
			d.seen(r, false, noon.Add(at))
			d.run(at, written)
		}
		if len(d.text) != 1 || at > 3*time.Minute {
			t.Errorf("with a clock %s off: %v after %s", off, d.text, at)
		}
	}
}
