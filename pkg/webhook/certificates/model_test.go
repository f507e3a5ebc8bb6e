package certificates

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// world is a cluster in which time passes as the test likes: the Secret, the
// webhook configuration with its older versions, and replicas.
type world struct {
	r       rules
	now     time.Time
	secret  *corev1.Secret
	version int
	config  configuration
	bundles []told // the newest last
	steps   map[step]int
	// dies has the next write fail, as it does for a replica that is killed.
	dies bool
	// read, parsed and valid cache results: a Secret's state, a bundle's certificates, and
	// whether a bundle verifies a certificate while both are valid.
	read   map[*corev1.Secret]state
	parsed map[string][]*x509.Certificate
	valid  map[string]error
}

type told struct {
	at     time.Time
	bundle []byte
}

// process is a replica that relies on a Secret that it read some time ago.
type process struct {
	replica
	secret *corev1.Secret
	// wrong is by how much its clock is.
	wrong time.Duration
}

var errKilled = errors.New("killed")

func newWorld() *world {
	w := &world{
		r: rules{
			names: []string{"webhook.ns.svc"}, ca: 90 * time.Minute, serving: 30 * time.Minute,
			overlap: 5 * time.Minute, grace: 5 * time.Minute, authName: "webhook.ns",
		},
		now:   time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		steps: map[step]int{}, read: map[*corev1.Secret]state{}, valid: map[string]error{}, parsed: map[string][]*x509.Certificate{},
	}
	w.config = configuration{uid: "1", entries: []entry{{name: "a"}, {name: "b"}}}
	return w
}

func (w *world) stateOf(secret *corev1.Secret) state {
	s, ok := w.read[secret]
	if !ok {
		s = readSecret(secret)
		w.read[secret] = s
	}
	return s
}

// put makes the data those of the Secret; nil deletes it.
func (w *world) put(data map[string][]byte) {
	w.version++
	w.secret = nil
	if data != nil {
		w.secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{ResourceVersion: fmt.Sprint(w.version)}, Data: data}
	}
}

// write makes the bundle that of the configuration.
func (w *world) write(bundle []byte) {
	w.config.generation++
	w.config.entries = []entry{newEntry("a", bundle), newEntry("b", bundle)}
	w.bundles = append(w.bundles, told{w.now, bundle})
}

func (w *world) liveState(context.Context) (state, error)                 { return w.stateOf(w.secret), nil }
func (w *world) liveConfiguration(context.Context) (configuration, error) { return w.config, nil }

func (w *world) save(_ context.Context, read *corev1.Secret, to state) error {
	if w.dies {
		return errKilled
	}
	var before map[string][]byte
	if read != nil {
		before = read.Data
	}
	data, err := to.encode(before)
	if err != nil {
		return err
	}
	if read != w.secret {
		return apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "webhook-certificates", nil)
	}
	w.put(data)
	return nil
}

func (w *world) publish(_ context.Context, read configuration, bundle []byte) error {
	if w.dies {
		return errKilled
	}
	if read.generation != w.config.generation {
		return apierrors.NewConflict(schema.GroupResource{Resource: "validatingwebhookconfigurations"}, "webhook", nil)
	}
	w.write(bundle)
	return nil
}

func (w *world) watch(p *process) { p.secret = w.secret }

// act is one turn of a replica, which is killed before it writes if die is set.
func (w *world) act(t *testing.T, p *process, die bool) {
	t.Helper()
	o := observed{secret: p.secret, state: w.stateOf(p.secret), config: w.config}
	now := w.now.Add(p.wrong)
	p.replica = p.observe(w.r, o, now)
	w.dies = die
	out, err := p.turn(t.Context(), w.r, o, w, now)
	if err != nil && !errors.Is(err, errKilled) && !apierrors.IsConflict(err) {
		t.Fatal(err)
	}
	if out.step != none {
		w.steps[out.step]++
	}
}

// check verifies what the replica serves by every bundle that an API server may
// hold, if its watch is late by no more than lag.
func (w *world) check(p *process, lag time.Duration) error {
	if !p.serves.by.usable(w.now) {
		return fmt.Errorf("nothing that is valid is served")
	}
	for i, b := range w.bundles {
		if i+1 < len(w.bundles) && w.bundles[i+1].at.Before(w.now.Add(-lag)) {
			continue // every API server has a later one
		}
		if err := w.verify(p.serves.by.serving.Leaf, b.bundle); err != nil {
			return fmt.Errorf("by bundle %d of %d: %w", i+1, len(w.bundles), err)
		}
	}
	return nil
}

// verify does what an API server does. Between the times at which one of the
// certificates begins or ends, the answer is the same.
func (w *world) verify(leaf *x509.Certificate, bundle []byte) error {
	parsed, known := w.parsed[string(bundle)]
	if !known {
		parsed = parseCertificates(bundle)
		w.parsed[string(bundle)] = parsed
	}
	key := string(leaf.Raw) + string(bundle)
	for _, c := range append(slices.Clone(parsed), leaf) {
		key += fmt.Sprint(w.now.Before(c.NotBefore), w.now.After(c.NotAfter))
	}
	err, known := w.valid[key]
	if !known {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(bundle)
		_, err = leaf.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: w.now, DNSName: "webhook.ns.svc"})
		w.valid[key] = err
	}
	return err
}

// Edge case 80: whatever two replicas do, late, killed, and made again, every
// certificate by which calls are taken verifies by every bundle that an API server may hold.
func TestNoMomentOfDisagreement(t *testing.T) {
	t.Parallel()
	seeds := uint64(8)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			dice := rand.New(rand.NewPCG(seed, 80))
			w := newWorld()
			replicas := []*process{{}, {}}
			settle(t, w, replicas[0])
			w.bundles = w.bundles[len(w.bundles)-1:] // no API server called before
			for range 2500 {
				w.now = w.now.Add(time.Duration(dice.IntN(20)) * time.Second)
				i := dice.IntN(2)
				p := replicas[i]
				if w.secret != p.secret && dice.IntN(3) > 0 || p.secret == nil {
					w.watch(p)
				}
				switch dice.IntN(40) {
				case 0:
					w.act(t, p, true)
					replicas[i] = &process{} // killed before the write
				case 1:
					w.act(t, p, false)
					replicas[i] = &process{} // killed after it
				case 2:
					if replicas[1-i].memory.current != nil { // the Secret is deleted
						w.put(nil)
					}
				default:
					w.act(t, p, false)
				}
				for n, p := range replicas {
					if !p.serves.ready(w.now) {
						continue // takes no calls
					}
					if err := w.check(p, 4*time.Minute); err != nil {
						t.Fatalf("%s: replica %d: %v", w.now.Format(time.TimeOnly), n, err)
					}
				}
			}
			if w.steps[promote] < 2 || w.steps[dropRetired] < 2 {
				t.Errorf("too little happened: %v", w.steps)
			}
		})
	}
}

// The clocks of two replicas are set wrong by up to an hour, and right again, at any
// moment of a year and a half: API servers with the right time, which have received the
// configuration, can still verify the served certificate.
func TestClocksAreMoved(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		dice := rand.New(rand.NewPCG(seed, 81))
		w := newWorld()
		w.r.ca, w.r.serving, w.r.overlap, w.r.grace = 365*24*time.Hour, 30*24*time.Hour, time.Hour, time.Minute
		replicas := []*process{{}, {}}
		for w.now.Before(time.Date(2027, 7, 1, 0, 0, 0, 0, time.UTC)) {
			w.now = w.now.Add(time.Duration(dice.ExpFloat64() * float64(12*time.Hour)))
			for range 1 + dice.IntN(20) { // what follows within the hour
				w.now = w.now.Add(time.Duration(dice.IntN(5)) * time.Minute)
				p := replicas[dice.IntN(2)]
				if dice.IntN(4) == 0 {
					p.wrong = time.Duration(dice.IntN(121)-60) * time.Minute
				}
				w.watch(p)
				w.act(t, p, false)
				for n, p := range replicas {
					if !p.serves.ready(w.now.Add(p.wrong)) {
						continue // takes no calls
					}
					if err := w.verify(p.serves.by.serving.Leaf, w.bundles[len(w.bundles)-1].bundle); err != nil {
						t.Fatalf("seed %d: %s: replica %d, whose clock is wrong by %s: %v", seed, w.now, n, p.wrong, err)
					}
				}
			}
		}
		if w.steps[promote] < 1 || w.steps[renew] < 10 {
			t.Errorf("seed %d: too little happened: %v", seed, w.steps)
		}
	}
}

// settle acts until nothing is to do.
func settle(t *testing.T, w *world, p *process) {
	t.Helper()
	for range 50 {
		w.watch(p)
		w.act(t, p, false)
	}
}

// Edge case 80: damage is repaired, by replicas that remember the state and by those that
// do not.
func TestRepair(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		breakIt   func(w *world)
		forgotten bool
		stays     bool // the authority
	}{
		"deleted":             {func(w *world) { w.put(nil) }, false, true},
		"deleted, all killed": {func(w *world) { w.put(nil) }, true, false},
		"garbled ca.crt":      {with(keyCA, "no"), false, true},
		"garbled tls.key":     {with(keyTLSKey, "no"), true, true},
		"garbled rotation":    {with(keyRotation, "{"), true, true},
		"without ca.key":      {with(keyCAKey, ""), true, false},
		"bundle reset":        {func(w *world) { w.write(nil) }, true, true},
		"bundle of no PEM":    {func(w *world) { w.write([]byte("\n")) }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, p := newWorld(), &process{}
			settle(t, w, p)
			before := w.stateOf(w.secret).current.cert
			test.breakIt(w)
			if test.forgotten {
				p = &process{}
			}
			settle(t, w, p)
			w.now = w.now.Add(w.r.overlap)
			settle(t, w, p)
			after := w.stateOf(w.secret)
			if after.current == nil || after.current.key == nil || !after.current.usable(w.now) {
				t.Fatalf("not repaired: %+v", after)
			}
			if after.current.cert.Equal(before) != test.stays {
				t.Errorf("the same authority: %t, want %t", !test.stays, test.stays)
			}
			if !after.knows(before) {
				t.Error("the authority that was served by is forgotten")
			}
			if !w.config.trusts(p.serves.by.cert) {
				t.Error("the webhook configuration does not trust the served certificate")
			}
		})
	}
}

// with returns what gives one key of the Secret another value; none takes it out.
func with(key, value string) func(*world) {
	return func(w *world) {
		data := maps.Clone(w.secret.Data)
		set(data, key, []byte(value))
		w.put(data)
	}
}
