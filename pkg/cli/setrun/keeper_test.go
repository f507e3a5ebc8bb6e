package setrun_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/setrun"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// full is a server that accepts no Secret, as with an exceeded quota. It lists no Secrets, or
// returns the error unlisted.
type full struct {
	store.Server // nothing else is asked

	unlisted error
}

var errQuota = errors.New("exceeded quota")

func (full) Kind(context.Context, schema.GroupVersionKind) (object.Kind, error) {
	return object.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Resource: "secrets", Namespaced: true}, nil
}

func (full) Apply(context.Context, object.Kind, *unstructured.Unstructured, object.Write) (*unstructured.Unstructured, error) {
	return nil, errQuota
}

func (full) Delete(context.Context, object.Kind, object.Ref, object.Deletion) (*unstructured.Unstructured, error) {
	return nil, errQuota
}

func (f full) Metadata(context.Context, object.Kind, object.Selection, func(*unstructured.Unstructured)) error {
	return f.unlisted
}

func (full) Live(context.Context, object.Kind, []object.Ref, func(int, *unstructured.Unstructured, error)) {
}

// ledger is a History that records its calls.
type ledger struct {
	last     history.Run
	sure     bool
	err      error
	reported []string
	run      history.Run
}

func (l *ledger) Last() (history.Run, bool, error) { return l.last, l.sure, l.err }

func (l *ledger) Note(run history.Run) {
	l.reported, l.run = append(l.reported, "with the lock: "+string(run.Result)), run
}

func (l *ledger) NoteNow(_ context.Context, run history.Run) error {
	l.reported, l.run = append(l.reported, "at once: "+string(run.Result)), run
	return nil
}

// If the Secrets of a run cannot be written, the run is noted in the Lease before its first write,
// because it could be killed and nothing else records it. It is noted again when it ends. Each note
// refers to the previous run, as far as earlier notes could be read.
func TestUnstoredRunIsNotedInLease(t *testing.T) {
	last := history.Run{ID: "last", Input: "sha256:1", Result: history.Applied, Place: history.Place{Number: 7, Known: true}}
	for name, test := range map[string]struct {
		keep   int
		server full
		ledger ledger
		warns  string
		before string
		known  bool
	}{
		"--history=0":             {0, full{}, ledger{last: last, sure: true}, "", "last", true},
		"the note may be old":     {0, full{}, ledger{last: last}, "", "", false},
		"the note cannot be read": {0, full{}, ledger{sure: true, err: errQuota}, "", "", false},
		"a quota":                 {10, full{}, ledger{last: last}, "cannot be rolled back to this run", "last", true},
		"no right to list":        {10, full{unlisted: errQuota}, ledger{last: last, sure: true}, "cannot be rolled back to this run", "last", true},
		"no right to list, and the note may be old": {10, full{unlisted: errQuota}, ledger{last: last}, "cannot be rolled back to this run", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			message := ""
			keeper := &setrun.Keeper{
				Server: test.server, Parent: object.Ref{Namespace: "shop", Name: "web"}, Keep: test.keep, History: &test.ledger,
				Emit: func(e event.Event) { message += e.(event.Warned).Text },
			}
			keeper.Begin(t.Context(), "next", &plan.Plan{})
			keeper.End(t.Context(), history.Failed, nil)
			if want := []string{"at once: running", "with the lock: failed"}; !slices.Equal(test.ledger.reported, want) {
				t.Errorf("noted %q", test.ledger.reported)
			}
			if run := test.ledger.run; run.ID != "next" || run.Place.Known != test.known || run.Place.Before.ID != test.before || run.Place.Number <= test.ledger.last.Place.Number {
				t.Errorf("%+v", run)
			}
			if !strings.Contains(message, test.warns) || (message == "") != (test.warns == "") {
				t.Errorf("got warning %q", message)
			}
		})
	}
}
