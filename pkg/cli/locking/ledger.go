package locking

import (
	"context"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/lock"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// ledger is the run that stated something last, as the Lease of its set says. What a run
// notes goes with the requests of its lock.
type ledger struct {
	mu sync.Mutex
	// was is the note as the Lease had it when this run was not its holder yet; sure: it was
	// written by the run that had the lock last.
	was  string
	sure bool
	// note is what is to be written; empty if this run stated nothing.
	note string
	turn int
}

// see takes in the Lease as it was read.
func (l *ledger) see(live *unstructured.Unstructured, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.note != "":
		return
	case apierrors.IsNotFound(err):
		l.was, l.sure = "", false
		return
	case err != nil:
		return
	}
	lease, err := RecordOf(live)
	notes := live.GetAnnotations()
	l.was = notes[StatedAnnotation]
	l.sure = err == nil && l.was != "" && notes[TurnAnnotation] == strconv.Itoa(lease.Transitions)
}

// add adds the note to the annotations of a Lease that is about to be written. A run that
// gives the lock back without having stated anything confirms what the Lease says, if that
// was sure.
func (l *ledger) add(notes map[string]string, lease lock.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn = lease.Transitions
	if l.note != "" {
		notes[StatedAnnotation] = l.note
	}
	if l.note != "" || lease.Holder == "" && l.sure {
		notes[TurnAnnotation] = strconv.Itoa(lease.Transitions)
	}
}

// Ledger is the ledger of a set whose lock is held.
type Ledger struct {
	locking *Locking
	server  Server
}

// Ledger returns that of the set. Nil without a lock.
func (l *Locking) Ledger(server Server) *Ledger {
	if l == nil {
		return nil
	}
	return &Ledger{locking: l, server: server}
}

// Last returns the run that stated something last before this one; without an ID if none was
// noted. sure: no other run had the lock since.
func (l *Ledger) Last() (run history.Run, sure bool, err error) {
	of := &l.locking.ledger
	of.mu.Lock()
	defer of.mu.Unlock()
	run, err = history.ReadNote(of.was)
	return run, of.sure, err
}

// Note has the next request of the lock note the run as the one that stated something last.
func (l *Ledger) Note(run history.Run) {
	text, err := history.Note(run)
	if err != nil {
		return // It consists of words and numbers.
	}
	of := &l.locking.ledger
	of.mu.Lock()
	defer of.mu.Unlock()
	of.note = text
}

// NoteNow notes it, and writes that with a request of its own.
func (l *Ledger) NoteNow(ctx context.Context, run history.Run) error {
	l.Note(run)
	of := &l.locking.ledger
	of.mu.Lock()
	notes := map[string]string{StatedAnnotation: of.note, TurnAnnotation: strconv.Itoa(of.turn)}
	of.mu.Unlock()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(l.locking.store.ref.GVK)
	u.SetNamespace(l.locking.store.ref.Namespace)
	u.SetName(l.locking.store.ref.Name)
	u.SetAnnotations(notes)
	// Unlike the requests of the lock, this one is guarded: it is sent while the lock is held.
	_, err := l.server.Merge(ctx, LeaseKind(), u, object.Write{Manager: manager})
	return err
}

// LastStated returns the run that stated something last in the set with this parent, by its
// Lease; without an ID if that does not say. A [history.FaultError] goes into [history.Kept].
func LastStated(ctx context.Context, server Reader, parent object.Ref) (history.Run, error) {
	live, err := server.Get(ctx, LeaseKind(), LeaseOf(parent))
	if apierrors.IsNotFound(err) {
		return history.Run{}, nil
	}
	if err != nil {
		return history.Run{}, err
	}
	return history.ReadNote(live.GetAnnotations()[StatedAnnotation])
}
