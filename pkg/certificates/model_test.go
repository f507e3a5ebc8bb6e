package certificates

import (
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// world is a cluster in which time passes as the test likes: the Secret, the
// webhook configuration with its older versions, and replicas.
type world struct {
	r       rules
	now     time.Time
	secret  map[string][]byte
	version int
	config  configuration
	bundles []told // the newest last
	steps   map[step]int
}

type told struct {
	at     time.Time
	bundle []byte
}

// replica goes by a Secret that it read some time ago.
type replica struct {
	served
	memory  state
	secret  map[string][]byte
	version int
}

func newWorld() *world {
	w := &world{
		r: rules{
			names: []string{"webhook.ns.svc"}, ca: 90 * time.Minute, serving: 30 * time.Minute,
			overlap: 5 * time.Minute, grace: 5 * time.Minute, authName: "webhook.ns",
		},
		now:   time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		steps: map[step]int{},
	}
	w.config = configuration{uid: "1", entries: []entry{{name: "a"}, {name: "b"}}}
	return w
}

func (w *world) write(bundle []byte) {
	w.config.generation++
	w.config.entries = []entry{{"a", bundle}, {"b", bundle}}
	w.bundles = append(w.bundles, told{w.now, bundle})
}

func (w *world) watch(p *replica) { p.secret, p.version = w.secret, w.version }

// act does what Keeper.look does, and dies in the middle if it is told so.
func (w *world) act(t *testing.T, p *replica, die bool) {
	t.Helper()
	v := view{state: decode(p.secret), memory: p.memory, config: w.config}
	p.served = w.r.serve(p.served, v, w.now)
	if v.current != nil {
		p.memory = v.state
	}
	if what, _ := w.r.next(v, w.now); what != none {
		s, err := w.r.take(what, v, w.now)
		if err != nil {
			t.Fatal(err)
		}
		data, err := s.encode(p.secret)
		if err != nil {
			t.Fatal(err)
		}
		if p.version == w.version && !die {
			w.secret, w.version = data, w.version+1
			w.steps[what]++
		}
		return
	}
	fresh := view{state: decode(w.secret), memory: p.memory, config: w.config}
	if what, _ := w.r.next(fresh, w.now); what == none && !die && !w.config.has(fresh.bundle()) {
		w.write(fresh.bundle())
	}
}

// check verifies what the replica serves by every bundle that an API server may
// hold, if its watch is late by no more than lag.
func (w *world) check(p *replica, lag time.Duration) error {
	if !p.by.usable(w.now) {
		return fmt.Errorf("nothing that is valid is served")
	}
	for i, b := range w.bundles {
		if i+1 < len(w.bundles) && w.bundles[i+1].at.Before(w.now.Add(-lag)) {
			continue // everybody has a later one
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(b.bundle)
		if _, err := p.by.serving.Leaf.Verify(x509.VerifyOptions{
			Roots: pool, CurrentTime: w.now, DNSName: "webhook.ns.svc",
		}); err != nil {
			return fmt.Errorf("by bundle %d of %d: %w", i+1, len(w.bundles), err)
		}
	}
	return nil
}

// Edge case 80: whatever two replicas do, late, killed, and made again, every
// certificate by which calls are taken verifies by every bundle that an API server may hold.
func TestNoMomentOfDisagreement(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			dice := rand.New(rand.NewPCG(seed, 80))
			w := newWorld()
			replicas := []*replica{{}, {}}
			settle(t, w, replicas[0])
			w.bundles = w.bundles[len(w.bundles)-1:] // nobody called before
			for range 2500 {
				w.now = w.now.Add(time.Duration(dice.IntN(20)) * time.Second)
				i := dice.IntN(2)
				p := replicas[i]
				if w.version-p.version > 0 && dice.IntN(3) > 0 || p.secret == nil {
					w.watch(p)
				}
				switch dice.IntN(40) {
				case 0:
					w.act(t, p, true)
					replicas[i] = &replica{} // killed before the write
				case 1:
					w.act(t, p, false)
					replicas[i] = &replica{} // killed after it
				case 2:
					if replicas[1-i].memory.current != nil { // somebody deletes the Secret
						w.secret, w.version = nil, w.version+1
					}
				default:
					w.act(t, p, false)
				}
				for n, p := range replicas {
					if !p.ready(w.now) {
						continue // takes no calls
					}
					if err := w.check(p, 4*time.Minute); err != nil {
						t.Fatalf("%s: replica %d: %v", w.now.Format(time.TimeOnly), n, err)
					}
				}
			}
			if w.steps[promote] < 2 || w.steps[forget] < 2 {
				t.Errorf("too little happened: %v", w.steps)
			}
		})
	}
}

// settle acts until nothing is to do.
func settle(t *testing.T, w *world, p *replica) {
	t.Helper()
	for range 50 {
		w.watch(p)
		w.act(t, p, false)
	}
}

// Edge case 80: what is broken is repaired, by who remembers and by who does not.
func TestRepair(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		breakIt   func(w *world)
		forgotten bool
		stays     bool // the authority
	}{
		"deleted":             {func(w *world) { w.secret = nil }, false, true},
		"deleted, all killed": {func(w *world) { w.secret = nil }, true, false},
		"garbled ca.crt":      {func(w *world) { w.secret[keyCA] = []byte("no") }, false, true},
		"garbled tls.key":     {func(w *world) { w.secret[keyTLSKey] = []byte("no") }, true, true},
		"garbled rotation":    {func(w *world) { w.secret[keyRotation] = []byte("{") }, true, true},
		"without ca.key":      {func(w *world) { delete(w.secret, keyCAKey) }, true, false},
		"bundle reset":        {func(w *world) { w.write(nil) }, true, true},
		"bundle of no PEM":    {func(w *world) { w.write([]byte("\n")) }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, p := newWorld(), &replica{}
			settle(t, w, p)
			before := decode(w.secret).current.cert
			test.breakIt(w)
			w.version++
			if test.forgotten {
				p = &replica{}
			}
			settle(t, w, p)
			w.now = w.now.Add(w.r.overlap)
			settle(t, w, p)
			after := decode(w.secret)
			if after.current == nil || after.current.key == nil || !after.current.usable(w.now) {
				t.Fatalf("not repaired: %+v", after)
			}
			if after.current.cert.Equal(before) != test.stays {
				t.Errorf("the same authority: %t, want %t", !test.stays, test.stays)
			}
			if !after.knows(before) {
				t.Error("the authority that was served by is forgotten")
			}
			if !w.config.trusts(p.by.cert) {
				t.Error("the webhook configuration does not trust what is served")
			}
		})
	}
}
