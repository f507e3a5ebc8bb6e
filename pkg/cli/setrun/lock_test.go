package setrun

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

var errAway = errors.New("the server is away")

// server keeps one Lease. As on an API server, an update with an old version is refused.
type server struct {
	LeaseServer
	mu    sync.Mutex
	lease *unstructured.Unstructured
	n     int
	// away means that no request arrives. lost means that all requests arrive, and no response
	// does. slow is the maximum delay of a request and of a response.
	away, lost bool
	slow       time.Duration
	// cut is the run whose requests fail, by its context.
	cut    any
	writes int
}

type runKey struct{}

func (s *server) request(ctx context.Context, do func() error) (*unstructured.Unstructured, error) {
	way := func() error {
		if s.slow == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(s.slow)):
			return nil
		}
	}
	if err := way(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	away, lost := s.away || s.cut != nil && s.cut == ctx.Value(runKey{}), s.lost
	var err error
	var live *unstructured.Unstructured
	if !away {
		if err = do(); err == nil {
			live = s.lease.DeepCopy()
		}
	}
	s.mu.Unlock()
	if away || lost {
		return nil, errAway
	}
	return live, errors.Join(err, way())
}

var leases = schema.GroupResource{Resource: "leases"}

func (s *server) Get(ctx context.Context, _ object.Kind, _ object.Ref) (*unstructured.Unstructured, error) {
	return s.request(ctx, func() error {
		if s.lease == nil {
			return apierrors.NewNotFound(leases, "shop")
		}
		return nil
	})
}

func (s *server) Create(ctx context.Context, _ object.Kind, u *unstructured.Unstructured, _ object.Write) (*unstructured.Unstructured, error) {
	return s.request(ctx, func() error {
		if s.lease != nil {
			return apierrors.NewAlreadyExists(leases, "shop")
		}
		s.set(u.DeepCopy())
		return nil
	})
}

func (s *server) Merge(ctx context.Context, _ object.Kind, u *unstructured.Unstructured, _ object.Write) (*unstructured.Unstructured, error) {
	return s.request(ctx, func() error {
		switch {
		case s.lease == nil:
			return apierrors.NewNotFound(leases, "shop")
		case u.GetResourceVersion() != s.lease.GetResourceVersion():
			return apierrors.NewConflict(leases, "shop", nil)
		}
		s.set(u.DeepCopy())
		return nil
	})
}

func (s *server) set(u *unstructured.Unstructured) {
	s.n++
	s.writes++
	u.SetResourceVersion(strconv.Itoa(s.n))
	s.lease = u
}

func (s *server) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// held writes a Lease that another run holds.
func (s *server) held(by string) {
	other := NewLock(by, "run")
	s.change(func() {
		s.set(other.object(resourcelock.LeaderElectionRecord{HolderIdentity: by, LeaseDurationSeconds: int(validity / time.Second)}))
	})
}

func (s *server) holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		return ""
	}
	record, _ := recordOf(s.lease)
	return record.HolderIdentity
}

var shop = object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Namespace: "shop", Name: "shop"}

// in runs a test in virtual time.
func in(t *testing.T, do func(*testing.T, *server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { do(t, &server{}) })
}

func acquire(t *testing.T, s *server, holder string, within time.Duration) (*Lock, context.Context) {
	t.Helper()
	l := NewLock(holder, "run")
	held, err := l.Acquire(t.Context(), shop, s, s, within, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l, held
}

// mayWrite returns why the lock permits no write now; nil if it permits one.
func mayWrite(t *testing.T, l *Lock) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	return l.Begin(ctx)
}

// A run may write while it holds the lock. The Lease is renewed for the whole time, and not more
// often than necessary.
func TestLockIsRenewedWhileHeld(t *testing.T) {
	in(t, func(t *testing.T, s *server) {
		if err := mayWrite(t, NewLock("a", "run")); !errors.Is(err, errNotHeld) {
			t.Errorf("before: %v", err)
		}
		l, held := acquire(t, s, "a", 0)
		time.Sleep(time.Hour)
		if err := mayWrite(t, l); err != nil || held.Err() != nil {
			t.Errorf("after an hour: %v, %v", err, held.Err())
		}
		if most := int(time.Hour/renewal) + 3; s.writes > most {
			t.Errorf("%d writes in an hour", s.writes)
		}
		if err := l.Release(t.Context()); err != nil || s.holder() != "" {
			t.Errorf("not released: %v, %+v", err, s.lease)
		}
		if err := mayWrite(t, l); !errors.Is(err, errNotHeld) {
			t.Errorf("after: %v", err)
		}
	})
}

// A second run waits for the first one, or reports which run has the lock.
func TestSecondRun(t *testing.T) {
	in(t, func(t *testing.T, s *server) {
		first, _ := acquire(t, s, "a", 0)
		second := NewLock("b", "run")
		for _, within := range []time.Duration{0, time.Minute} {
			_, err := second.Acquire(t.Context(), shop, s, s, within, nil)
			held, ok := errors.AsType[*HeldError](err)
			if !ok || held.Holder != "a" || held.Run != "run" || held.Waited < within || held.Waited > within+3*poll {
				t.Errorf("%s: %v", within, err)
			}
		}
		time.AfterFunc(20*time.Second, func() { _ = first.Release(t.Context()) })
		began, reported := time.Now(), 0
		held, err := second.Acquire(t.Context(), shop, s, s, time.Minute, func(h *HeldError) {
			reported++
			if h.Holder != "a" {
				t.Errorf("reported %+v", h)
			}
		})
		if took := time.Since(began); err != nil || held.Err() != nil || reported != 1 || took > 20*time.Second+3*poll {
			t.Errorf("%v after %s, reported %d times", err, took, reported)
		}
		_ = second.Release(t.Context())
	})
}

// The lock of a killed run can be taken when its Lease has expired, and not before. The waiting run
// measures this time with its own clock. An interrupted run stops waiting.
func TestDeadHolder(t *testing.T) {
	in(t, func(t *testing.T, s *server) {
		s.held("dead")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := NewLock("a", "run").Acquire(ctx, shop, s, s, time.Minute, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("interrupted: %v", err)
		}
		began := time.Now()
		l, _ := acquire(t, s, "a", time.Minute)
		if took := time.Since(began); took < validity || took > validity+3*poll {
			t.Errorf("taken over after %s", took)
		}
		_ = l.Release(t.Context())
	})
}

// While the server is unreachable, writes wait. They continue when the server is back. A long
// outage ends the run.
func TestOutage(t *testing.T) {
	in(t, func(t *testing.T, s *server) {
		l, held := acquire(t, s, "a", 0)
		s.change(func() { s.away = true })
		time.Sleep(40 * time.Second)
		if err := mayWrite(t, l); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("write with an expired Lease: got %v, want the deadline to be exceeded", err)
		}
		time.AfterFunc(10*time.Second, func() { s.change(func() { s.away = false }) })
		began := time.Now()
		err := l.Begin(t.Context())
		if took := time.Since(began); err != nil || took > 10*time.Second+3*poll || held.Err() != nil {
			t.Fatalf("%v after %s", err, took)
		}
		s.change(func() { s.away = true })
		for err == nil {
			time.Sleep(time.Second)
			err = l.Begin(t.Context())
		}
		if !errors.As(err, new(*LostError)) || !errors.Is(err, errAway) || !errors.Is(context.Cause(held), err) {
			t.Errorf("got error %v, and the run ended with %v", err, context.Cause(held))
		}
		if err := l.Release(t.Context()); err != nil {
			t.Errorf("releasing a lost lock: %v", err)
		}
	})
}

// A renewal whose response is lost has changed the Lease. The next renewal uses an old version and
// is refused; the run then recognizes its own renewal.
func TestLostAnswers(t *testing.T) {
	in(t, func(t *testing.T, s *server) {
		l, held := acquire(t, s, "a", 0)
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
		if err := l.Release(t.Context()); err != nil || s.holder() != "" {
			t.Errorf("not released: %v", err)
		}
	})
}

// The run ends if its Lease is deleted or taken.
func TestRunEndsWhenLockIsLost(t *testing.T) {
	for name, test := range map[string]struct {
		take func(*server)
		says string
	}{
		"deleted":            {func(s *server) { s.change(func() { s.lease = nil }) }, "its Lease was deleted"},
		"taken":              {func(s *server) { s.held("b") }, "b took it over"},
		"taken and released": {func(s *server) { s.held("") }, "another run took it over and has finished"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, s *server) {
				l, held := acquire(t, s, "a", 0)
				test.take(s)
				<-held.Done()
				lost := context.Cause(held)
				if !errors.As(lost, new(*LostError)) || !strings.HasSuffix(lost.Error(), "shop: the lock of the set was lost: "+test.says) {
					t.Errorf("the run ended with %v, want a lost lock", lost)
				}
				if err := mayWrite(t, l); !errors.Is(err, lost) {
					t.Errorf("a write: %v", err)
				}
				_ = l.Release(t.Context())
			})
		})
	}
}

// The property: within 10 s of being sent, a write arrives only while the Lease names its run, no
// matter which messages are lost or delayed, and which machine pauses.
func TestWritesOnlyByTheHolder(t *testing.T) {
	for range 5 {
		in(t, func(t *testing.T, s *server) {
			s.slow = 3 * time.Second
			ctx, end := context.WithTimeout(t.Context(), time.Hour)
			defer end()
			var runs sync.WaitGroup
			wrote := 0
			for i := range 3 {
				runs.Go(func() {
					ctx := context.WithValue(ctx, runKey{}, i)
					for n := 0; ctx.Err() == nil; n++ {
						l := NewLock(strconv.Itoa(i)+"-"+strconv.Itoa(n), "run")
						held, err := l.Acquire(ctx, shop, s, s, 2*time.Minute, nil)
						if err != nil {
							continue
						}
						for range rand.N(20) {
							if held.Err() != nil || l.Begin(held) != nil {
								break
							}
							time.Sleep(rand.N(margin))
							if by := s.holder(); by != l.holder && held.Err() == nil {
								t.Errorf("%s writes while %q holds the lock", l.holder, by)
							}
							s.change(func() { wrote++ })
						}
						if rand.N(2) == 0 {
							_ = l.Release(ctx)
						} else { // Killed.
							l.end(nil)
							<-l.done
						}
					}
				})
			}
			for ctx.Err() == nil {
				time.Sleep(rand.N(80 * time.Second))
				s.change(func() { s.cut, s.away, s.lost = rand.N(6), rand.N(6) == 0, rand.N(6) == 0 })
			}
			runs.Wait()
			if wrote < 100 {
				t.Errorf("only %d writes, want at least 100", wrote)
			}
		})
	}
}
