package lock

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var errAway = errors.New("the server is away")

// server is the Lease of one set, in memory.
type server struct {
	mu    sync.Mutex
	lease *Record
	n     int
	// away: nothing arrives. lost: everything arrives, and no answer does.
	away, lost bool
	requests   int
}

func (s *server) request(do func() (Record, error)) (Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.away {
		return Record{}, errAway
	}
	lease, err := do()
	if s.lost {
		return Record{}, errAway
	}
	return lease, err
}

func (s *server) Read(context.Context) (Record, error) {
	return s.request(func() (Record, error) {
		if s.lease == nil {
			return Record{}, ErrAbsent
		}
		return *s.lease, nil
	})
}

func (s *server) Create(_ context.Context, lease Record) (Record, error) {
	return s.request(func() (Record, error) {
		if s.lease != nil {
			return Record{}, ErrChanged
		}
		return s.set(lease), nil
	})
}

func (s *server) Replace(_ context.Context, lease Record) (Record, error) {
	return s.request(func() (Record, error) {
		switch {
		case s.lease == nil:
			return Record{}, ErrAbsent
		case s.lease.Version != lease.Version:
			return Record{}, ErrChanged
		}
		return s.set(lease), nil
	})
}

func (s *server) set(lease Record) Record {
	s.n++
	lease.Version = strconv.Itoa(s.n)
	s.lease = &lease
	return lease
}

func (s *server) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// in runs a test in virtual time, in which the machine never sleeps.
func in(t *testing.T, do func(*testing.T, *server, func(holder string) *Lock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		do(t, &server{}, func(holder string) *Lock {
			l := New(Identity{Holder: holder, Run: "run"}, Usual())
			start := time.Now()
			l.now = func() Moment { return Moment{Mono: time.Since(start), Wall: time.Now().Round(0)} }
			return l
		})
	})
}

func acquire(t *testing.T, l *Lock, s *server, within time.Duration) context.Context {
	t.Helper()
	held, err := l.Acquire(t.Context(), s, s, within, nil)
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// mayWrite reports whether a write may leave.
func mayWrite(t *testing.T, l *Lock) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, ended, err := l.Begin(ctx)
	if err == nil {
		ended(true)
	}
	return err
}

func TestNobodyWritesBeforeAndAfter(t *testing.T) {
	in(t, func(t *testing.T, s *server, lock func(string) *Lock) {
		l := lock("a")
		if err := mayWrite(t, l); !errors.Is(err, ErrNotHeld) {
			t.Errorf("before: %v", err)
		}
		acquire(t, l, s, 0)
		if err := mayWrite(t, l); err != nil {
			t.Errorf("while it is held: %v", err)
		}
		if !l.Release(t.Context(), s) || s.lease.Holder != "" {
			t.Errorf("not released: %+v", s.lease)
		}
		if err := mayWrite(t, l); !errors.Is(err, ErrNotHeld) {
			t.Errorf("after: %v", err)
		}
	})
}

// The Lease is renewed beside the run, for as long as that takes, and not more often than
// it has to be.
func TestRenewed(t *testing.T) {
	in(t, func(t *testing.T, s *server, lock func(string) *Lock) {
		l := lock("a")
		held := acquire(t, l, s, 0)
		time.Sleep(time.Hour)
		if err := mayWrite(t, l); err != nil || held.Err() != nil {
			t.Errorf("after an hour: %v, %v", err, held.Err())
		}
		if most := int(time.Hour/Usual().Renew) + 10; s.requests > most {
			t.Errorf("%d requests in an hour", s.requests)
		}
		l.Release(t.Context(), s)
	})
}

// A second run waits until the first one is done, or says which run has the lock.
func TestSecondRun(t *testing.T) {
	in(t, func(t *testing.T, s *server, lock func(string) *Lock) {
		first, second := lock("a"), lock("b")
		acquire(t, first, s, 0)
		time.Sleep(time.Minute)
		for _, within := range []time.Duration{0, time.Minute} {
			_, err := second.Acquire(t.Context(), s, s, within, nil)
			held, ok := errors.AsType[*HeldError](err)
			if !ok || held.Lease.Holder != "a" || held.Waited != within {
				t.Errorf("%s: %v", within, err)
			}
		}
		time.AfterFunc(20*time.Second, func() { first.Release(t.Context(), s) })
		began, told := time.Now(), 0
		held, err := second.Acquire(t.Context(), s, s, time.Minute, func(h HeldError) {
			told++
			if h.Lease.Holder != "a" {
				t.Errorf("reported %+v", h)
			}
		})
		if took := time.Since(began); err != nil || held.Err() != nil || told != 1 || took > 22*time.Second {
			t.Errorf("%v after %s, reported %d times", err, took, told)
		}
		second.Release(t.Context(), s)
	})
}

// The lock of a run that was killed is taken over when the Lease has run out, by the
// waiting run's own observation, and not before.
func TestDeadHolder(t *testing.T) {
	in(t, func(t *testing.T, s *server, lock func(string) *Lock) {
		s.set(Record{Holder: "dead", Renewed: time.Now().Add(-time.Hour), Duration: Usual().Duration})
		l, began := lock("a"), time.Now()
		acquire(t, l, s, time.Minute)
		if took := time.Since(began); took < Usual().Duration || took > Usual().Duration+2*time.Second {
			t.Errorf("taken over after %s", took)
		}
		if s.lease.Transitions != 1 {
			t.Errorf("%d transitions", s.lease.Transitions)
		}
		l.Release(t.Context(), s)
	})
}

// While the server is away, writes wait; once it is back, they continue, and no other run
// can have had the lock.
func TestOutage(t *testing.T) {
	in(t, func(t *testing.T, s *server, lock func(string) *Lock) {
		l := lock("a")
		held := acquire(t, l, s, 0)
		s.change(func() { s.away = true })
		time.Sleep(40 * time.Second)
		if err := mayWrite(t, l); !errors.Is(err, context.DeadlineExceeded) || l.Fresh() {
			t.Errorf("the Lease has run out: %v, fresh %t", err, l.Fresh())
		}
		time.AfterFunc(10*time.Second, func() { s.change(func() { s.away = false }) })
		began := time.Now()
		_, ended, err := l.Begin(t.Context())
		if took := time.Since(began); err != nil || took > 12*time.Second || held.Err() != nil {
			t.Fatalf("%v after %s", err, took)
		}
		ended(true)
		if !l.Release(t.Context(), s) {
			t.Error("not released")
		}
	})
}

// An outage that lasts is the end of the run.
func TestLongOutage(t *testing.T) {
	in(t, func(t *testing.T, s *server, lock func(string) *Lock) {
		l := lock("a")
		held := acquire(t, l, s, 0)
		s.change(func() { s.away = true })
		_, _, err := l.Begin(t.Context())
		for err == nil {
			time.Sleep(time.Second)
			_, _, err = l.Begin(t.Context())
		}
		lost, ok := errors.AsType[*LostError](err)
		if !ok || lost.Reason != NotRenewed || !errors.Is(err, errAway) || !errors.Is(context.Cause(held), err) {
			t.Errorf("%v, and the run ends with %v", err, context.Cause(held))
		}
		if l.Release(t.Context(), s) {
			t.Error("released what it does not hold")
		}
	})
}

// A renewal whose answer is lost has arrived: the next one is bound to a version that is
// gone, and finds its own.
func TestLostAnswers(t *testing.T) {
	in(t, func(t *testing.T, s *server, lock func(string) *Lock) {
		l := lock("a")
		held := acquire(t, l, s, 0)
		for range 20 {
			s.change(func() { s.lost = true })
			time.Sleep(7 * time.Second)
			s.change(func() { s.lost = false })
			time.Sleep(7 * time.Second)
			if err := mayWrite(t, l); err != nil || held.Err() != nil {
				t.Fatal(err)
			}
		}
		s.change(func() { s.lost = true })
		time.Sleep(7 * time.Second)
		s.change(func() { s.lost = false })
		if !l.Release(t.Context(), s) {
			t.Error("not released")
		}
	})
}

// The run ends if its Lease is deleted or taken.
func TestTakenAway(t *testing.T) {
	for name, take := range map[string]func(*server){
		"deleted":            func(s *server) { s.lease = nil },
		"taken":              func(s *server) { s.set(Record{Holder: "b"}) },
		"taken and released": func(s *server) { s.set(Record{}) },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, s *server, lock func(string) *Lock) {
				l := lock("a")
				held := acquire(t, l, s, 0)
				s.change(func() { take(s) })
				<-held.Done()
				if _, ok := errors.AsType[*LostError](context.Cause(held)); !ok {
					t.Errorf("it ends with %v", context.Cause(held))
				}
				if err := mayWrite(t, l); !errors.Is(err, context.Cause(held)) {
					t.Errorf("a write: %v", err)
				}
				l.Release(t.Context(), s)
			})
		})
	}
}

// A write that ended without an answer may still arrive: the Lease is left to run out. Once
// the server cannot carry it out any more, the lock is given back.
func TestWriteInDoubt(t *testing.T) {
	for _, later := range []time.Duration{0, time.Minute} {
		in(t, func(t *testing.T, s *server, lock func(string) *Lock) {
			l := lock("a")
			acquire(t, l, s, 0)
			within, ended, err := l.Begin(t.Context())
			if err != nil || within <= 0 || within >= Usual().Duration {
				t.Fatalf("%s, %v", within, err)
			}
			ended(false)
			time.Sleep(later)
			if freed := l.Release(t.Context(), s); freed != (later > 0) || freed != (s.lease.Holder == "") {
				t.Errorf("after %s, freed: %t, %+v", later, freed, s.lease)
			}
		})
	}
}

// Who shortens a Lease by hand does not make its holder any faster to notice: it is taken
// over no earlier than one that was left alone.
func TestShortenedByHand(t *testing.T) {
	in(t, func(t *testing.T, s *server, lock func(string) *Lock) {
		l := lock("b")
		s.change(func() { s.set(Record{Holder: "a", Run: "run", Duration: time.Second}) })
		began := time.Now()
		acquire(t, l, s, time.Minute)
		defer l.Release(t.Context(), s)
		if after := time.Since(began); after < Usual().Duration {
			t.Errorf("taken over after %s, while its holder may write for %s", after, Usual().Duration)
		}
	})
}

// A machine that has slept does not know it by every clock.
func TestSleep(t *testing.T) {
	wall := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	then := Moment{Mono: time.Hour, Wall: wall}
	for name, test := range map[string]struct {
		now    Moment
		passed time.Duration
		known  bool
	}{
		"awake":             {Moment{time.Hour + time.Minute, wall.Add(time.Minute)}, time.Minute, true},
		"asleep":            {Moment{time.Hour + time.Second, wall.Add(time.Minute)}, time.Minute, true},
		"slewed":            {Moment{time.Hour + time.Minute, wall.Add(time.Minute - time.Second)}, time.Minute, true},
		"set ahead":         {Moment{time.Hour + time.Second, wall.Add(time.Hour)}, time.Hour, true},
		"set back":          {Moment{time.Hour + time.Minute, wall.Add(-time.Hour)}, time.Minute, false},
		"set back a little": {Moment{time.Hour + time.Minute, wall.Add(58 * time.Second)}, time.Minute, false},
	} {
		if passed, known := test.now.since(then); passed != test.passed || known != test.known {
			t.Errorf("%s: %s, %t", name, passed, known)
		}
	}
	now := clock()
	first := now()
	if second := now(); second.Mono < first.Mono || second.Wall.IsZero() {
		t.Errorf("%+v, then %+v", first, second)
	}
}
