package deletions

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

func goneAt(uid string, seconds float64, owners ...string) Gone {
	g := Gone{Object: ownership.Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: uid, UID: types.UID(uid)}}
	if seconds > 0 {
		g.Time = at(seconds)
	}
	for _, o := range owners {
		g.Refs = append(g.Refs, metav1.OwnerReference{Kind: "Deployment", Name: o, UID: types.UID(o)})
	}
	return g
}

// due formats what the book writes at a time.
func (b *book) written(seconds float64) (out []string) {
	for name, all := range b.dueNow("own", at(seconds), false) {
		for _, p := range all {
			d := b.deletion(p)
			state := "asked"
			if !d.Gone.IsZero() {
				state = "gone"
			}
			out = append(out, fmt.Sprintf("%s/%s %s %s by %s %s", name.Namespace, d.Object.Name, state, d.By, d.User, d.Via.Name))
		}
		b.answer(all, true, at(seconds))
	}
	return out
}

func TestBook(t *testing.T) {
	hint := func(uid, user string, seconds float64) ownership.DeletionHint {
		return ownership.DeletionHint{UID: types.UID(uid), User: user, Time: at(seconds)}
	}
	tests := map[string]struct {
		leads bool
		do    func(b *book)
		at    float64
		want  string
	}{
		"with its user": {
			do: func(b *book) { b.hint(hint("a", "jane", 0), at(0)); b.see(goneAt("a", 0.1), nil, at(0.1)) },
			at: 1, want: "[shop/a gone user by jane ]",
		},
		"the user comes later": {
			do: func(b *book) { b.see(goneAt("a", 0.1), nil, at(0.1)); b.hint(hint("a", "jane", 0), at(1)) },
			at: 2, want: "[shop/a gone user by jane ]",
		},
		"refused": {leads: true, do: func(b *book) { b.hint(hint("a", "jane", 0), at(0)) }, at: 60, want: "[]"},
		"refused, and deleted much later": {
			leads: true,
			do: func(b *book) {
				b.hint(hint("a", "jane", 0), at(0))
				b.dueNow("own", at(300), false)
				b.see(goneAt("a", 301), nil, at(301))
			},
			at: 310, want: "[shop/a gone unknown by  ]",
		},
		"two users": {
			do: func(b *book) {
				b.hint(hint("a", "jane", 0), at(0))
				b.hint(hint("a", "joe", 0), at(0))
				b.see(goneAt("a", 0.1), nil, at(0.1))
			},
			at: 1, want: "[shop/a gone user by  ]",
		},
		"not the leader, without a user": {do: func(b *book) { b.see(goneAt("a", 1), nil, at(1)) }, at: 10, want: "[]"},
		"the leader waits":               {leads: true, do: func(b *book) { b.see(goneAt("a", 1), nil, at(1)) }, at: 2, want: "[]"},
		"its owner went, which is seen later": {
			leads: true,
			do:    func(b *book) { b.see(goneAt("a", 1, "web"), nil, at(1)); b.see(goneAt("web", 0), nil, at(2)) },
			at:    4.5, want: "[shop/a gone owner by  web]",
		},
		"its owner lives": {leads: true, do: func(b *book) { b.see(goneAt("a", 1, "web"), nil, at(1)) }, at: 5, want: "[shop/a gone unknown by  web]"},
		"in a namespace that is going": {
			leads: true,
			do: func(b *book) {
				namespace := Gone{Object: ownership.Object{APIVersion: "v1", Kind: "Namespace", Name: "shop", UID: "n"}}
				b.see(namespace, nil, at(100))
				b.see(goneAt("a", 1), nil, at(1))
			},
			at: 5, want: "[own/a gone namespace by  shop]",
		},
		"held up by a finalizer": {
			do: func(b *book) { b.hint(hint("a", "jane", 0), at(0)); b.see(goneAt("a", 0), nil, at(0.1)) },
			at: 1, want: "[shop/a asked user by jane ]",
		},
		"gone after it was written as asked": {
			do: func(b *book) {
				b.hint(hint("a", "jane", 0), at(0))
				b.see(goneAt("a", 0), nil, at(0.1))
				b.written(1)
				b.see(goneAt("a", 20), nil, at(20))
			},
			at: 21, want: "[shop/a gone user by jane ]",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBook()
			b.lead(tt.leads)
			tt.do(b)
			if got := fmt.Sprint(b.written(tt.at)); got != tt.want {
				t.Errorf("written %s, not %s", got, tt.want)
			}
			if got := fmt.Sprint(b.written(tt.at + 0.1)); got != "[]" {
				t.Errorf("written again: %s", got)
			}
		})
	}
}

// The record of a deletion changes once its namespace is going, and a look at deletions that wait for
// their record allocates little.
func TestBookKeepsNames(t *testing.T) {
	b := newBook()
	b.lead(true)
	for n := range 1000 {
		b.see(goneAt(fmt.Sprint("x-", n), 1), nil, at(1))
	}
	places := func() (out []string) {
		for name, all := range b.dueNow("own", at(10), false) {
			out = append(out, fmt.Sprint(name.Namespace, " ", len(all) > 0))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	if got := fmt.Sprint(places()); got != "[shop true]" {
		t.Errorf("in %s", got)
	}
	if n := testing.AllocsPerRun(10, func() { b.dueNow("own", at(10), false) }); n > 500 {
		t.Errorf("%v allocations for 1000 deletions", n)
	}
	b.see(Gone{Object: ownership.Object{APIVersion: "v1", Kind: "Namespace", Name: "shop", UID: "n"}, Time: at(2)}, nil, at(2))
	if got := fmt.Sprint(places()); got != "[own true]" {
		t.Errorf("in a namespace that is going: in %s", got)
	}
}

// A storm without users is written once it pauses, or after half a minute. Each user is written at once, with
// what is due by then, and so are few deletions.
func TestBookWritesAStormOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		deletions int
		seconds   float64
		user      float64 // when a user deletes one more object
		first     float64
		writes    int // of one record
	}{
		"a storm":                {deletions: 500, seconds: 10, first: 13, writes: 1},
		"a storm without a rest": {deletions: 2000, seconds: 40, first: 30.1, writes: 2},
		"a storm with a user":    {deletions: 500, seconds: 10, user: 5, first: 5.2, writes: 2},
		"a few":                  {deletions: 20, seconds: 10, first: 3, writes: 20},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook()
			b.lead(true)
			writes, wrote, first, seen := map[types.NamespacedName]int{}, 0, 0.0, 0
			for tick := range 700 {
				now := float64(tick) / 10
				for ; seen < tt.deletions && float64(seen)*tt.seconds/float64(tt.deletions) <= now; seen++ {
					b.see(goneAt(fmt.Sprint("x-", seen), now+0.001), nil, at(now))
				}
				if tt.user > 0 && now == tt.user {
					b.hint(ownership.DeletionHint{UID: "y", User: "jane", Time: at(now)}, at(now))
					b.see(goneAt("y", now), nil, at(now))
					tt.deletions++
					seen++
				}
				for name, due := range b.dueNow("own", at(now), false) {
					if wrote == 0 {
						first = now
					}
					writes[name]++
					wrote += len(due)
					for _, p := range due {
						b.deletion(p)
					}
					b.answer(due, true, at(now))
				}
			}
			if most := slices.Max(slices.Collect(maps.Values(writes))); most > tt.writes || first != tt.first || wrote != tt.deletions {
				t.Errorf("%v writes of %d deletions, the first after %v s; want at most %d of %d after %v s", writes, wrote, first, tt.writes, tt.deletions, tt.first)
			}
		})
	}
}

// The version is that of the last event that showed the object.
func TestBookKeepsTheVersion(t *testing.T) {
	b := newBook()
	b.lead(true)
	going, gone := goneAt("a", 0), goneAt("a", 1)
	going.Version, gone.Version = "7", "9"
	b.see(going, nil, at(0))
	b.see(gone, nil, at(1))
	for _, all := range b.dueNow("own", at(10), false) {
		if d := b.deletion(all[0]); d.Version != "9" {
			t.Errorf("version %s, not 9", d.Version)
		}
	}
}

// News of a deletion that come while its record is written are written next.
func TestBookKeepsNewsDuringAWrite(t *testing.T) {
	b := newBook()
	b.hint(ownership.DeletionHint{UID: "a", User: "jane", Time: at(0)}, at(0))
	b.see(goneAt("a", 0), nil, at(0))
	for _, all := range b.dueNow("own", at(1), false) {
		for _, p := range all {
			b.deletion(p)
		}
		b.see(goneAt("a", 1), nil, at(1))
		b.answer(all, true, at(1))
	}
	if got := fmt.Sprint(b.written(2)); got != "[shop/a gone user by jane ]" {
		t.Errorf("written %s", got)
	}
	b = newBook()
	b.lead(true)
	b.see(goneAt("a", 1), nil, at(1))
	for _, all := range b.dueNow("own", at(5), false) {
		for _, p := range all {
			b.deletion(p)
		}
		b.hint(ownership.DeletionHint{UID: "a", User: "jane", Time: at(1)}, at(5))
		b.answer(all, true, at(5))
	}
	if got := fmt.Sprint(b.written(6)); got != "[shop/a gone user by jane ]" {
		t.Errorf("written %s", got)
	}
}

// Each object that is gone is settled once: when it is written, when there is no room, or when the
// leader must have written it. A deletion without room is counted.
func TestBookSettles(t *testing.T) {
	b := newBook()
	b.lead(true)
	settled := 0
	for n := range maxPending + 10 {
		b.see(goneAt(fmt.Sprint(n), 1), func() { settled++ }, at(1))
	}
	if settled != 10 || b.lost["shop"] != 10 {
		t.Errorf("%d settled, %d lost, want 10", settled, b.lost["shop"])
	}
	for _, all := range b.dueNow("own", at(5), false) {
		for _, p := range all {
			b.deletion(p)
		}
		b.answer(all, true, at(5))
	}
	if settled != maxPending+10 || len(b.pending) != 0 {
		t.Errorf("%d settled, %d pending", settled, len(b.pending))
	}
	b.lead(false)
	b.see(goneAt("x", 1), func() { settled++ }, at(6))
	b.dueNow("own", at(100), false)
	if settled != maxPending+11 {
		t.Error("what was left to the leader is not settled")
	}
}
