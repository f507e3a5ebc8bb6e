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

// Ledger is the run that stated something last, as the Lease of its set says. What a run notes
// goes with the requests of its lock.
type Ledger struct {
	// server and ref are the Lease, for what cannot wait.
	server Server
	ref    object.Ref

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
func (l *Ledger) see(live *unstructured.Unstructured, err error) {
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
	l.sure = err == nil && notes[TurnAnnotation] == strconv.Itoa(lease.Transitions)
}

// add adds the note to the annotations of a Lease that is about to be written. A run that
// gives the lock back without having stated anything confirms what the Lease says, if that
// was sure.
func (l *Ledger) add(notes map[string]string, lease lock.Record) {
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

// Last returns the run that stated something last before this one; without an ID if none was
// noted. sure: no other run had the lock since.
func (l *Ledger) Last() (run history.Run, sure bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	run, err = history.ReadNote(l.was)
	return run, l.sure, err
}

// Note has the next request of the lock note the run as the one that stated something last.
func (l *Ledger) Note(run history.Run) {
	text, err := history.Note(run)
	if err != nil {
		return // It consists of words and numbers.
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note = text
}

// NoteNow notes it, and writes that with a request of its own.
func (l *Ledger) NoteNow(ctx context.Context, run history.Run) error {
	l.Note(run)
	l.mu.Lock()
	notes := map[string]string{StatedAnnotation: l.note, TurnAnnotation: strconv.Itoa(l.turn)}
	l.mu.Unlock()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(l.ref.GVK)
	u.SetNamespace(l.ref.Namespace)
	u.SetName(l.ref.Name)
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
