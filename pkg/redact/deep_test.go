package redact_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

type hinted struct {
	error
	hint string
}

func (h *hinted) Hint() string { return h.hint }

func (h *hinted) Unwrap() error { return h.error }

func (h *hinted) Of(objects int) error {
	return &hinted{fmt.Errorf("%d objects: %w", objects, h.error), h.hint}
}

// ofMany returns the form of an error for several objects, as a printer requests it.
func ofMany(err error) error {
	common, ok := errors.AsType[interface {
		error
		Of(objects int) error
	}](err)
	if !ok {
		return err
	}
	return common.Of(7)
}

func TestDeepMasksEveryTextOfAnEvent(t *testing.T) {
	vault := redact.NewVault()
	vault.Learn(aSecret("db", password+"-battery"))
	const canary = password + "-battery"
	web := object.Ref{Namespace: "shop", Name: "web"}
	result := event.Applied{
		Ref: web, Action: event.Failed, Reason: "was " + canary,
		Err: fmt.Errorf("a: %w", &hinted{errors.New(canary), "try " + canary}),
		Conflicts: []managedfields.Conflict{
			{Path: fieldpath.Field("data"), Yours: map[string]any{canary: []any{canary}}, Live: canary, HasLive: true},
		},
	}
	before := fmt.Sprintf("%#v", result.Conflicts)
	got := vault.Deep(result, nil).(event.Applied)
	if text := fmt.Sprintf("%+v %v", got, got.Err); leak(strings.ReplaceAll(text, "map["+canary, ""), canary) != "" {
		t.Errorf("left: %s", text)
	}
	if after := fmt.Sprintf("%#v", result.Conflicts); after != before {
		t.Error("the argument was changed")
	}
	if got.Ref != web || got.Conflicts[0].Path.String() != ".data" || !got.Conflicts[0].HasLive {
		t.Errorf("got %+v", got)
	}
	waited := event.Waited{Ref: web, Object: &unstructured.Unstructured{Object: map[string]any{"status": canary, "spec": int64(3)}}}
	masked := vault.Deep(waited, nil).(event.Waited)
	if diff := cmp.Diff(map[string]any{"status": "***", "spec": int64(3)}, masked.Object.Object); diff != "" {
		t.Error(diff)
	}
	// If there is nothing to mask, nothing is copied.
	clean := event.Waited{Object: &unstructured.Unstructured{Object: map[string]any{"a": "nothing secret"}}}
	if got := vault.Deep(clean, nil).(event.Waited); got.Object != clean.Object {
		t.Error("a clean object was copied")
	}
}

// Names in an event are not masked, even if a Secret contains the same text.
func TestDeepLeavesNames(t *testing.T) {
	vault := redact.NewVault()
	vault.Learn(aSecret("db", "shop-production"))
	ref := object.Ref{Namespace: "shop-production", Name: "web"}
	got := vault.Deep(event.Warned{Ref: ref, Text: `namespace "shop-production" is terminating`}, nil).(event.Warned)
	if got.Ref != ref || !strings.Contains(got.Text, "shop-production") {
		t.Errorf("got %+v", got)
	}
}

func TestMaskedErrorWrapsTheOriginal(t *testing.T) {
	vault := redact.NewVault()
	const canary = password + "-battery"
	vault.Learn(aSecret("db", canary))
	status := apierrors.NewBadRequest("has " + canary)
	err := fmt.Errorf("x: %w", errors.Join(&hinted{status, "see " + canary}, context.DeadlineExceeded))
	got := vault.Deep(event.Applied{Err: err}, nil).(event.Applied).Err
	if !apierrors.IsBadRequest(got) || !errors.Is(got, context.DeadlineExceeded) || !errors.Is(got, err) {
		t.Error("the masked error does not match the original with errors.Is")
	}
	var hint interface{ Hint() string }
	if !errors.As(got, &hint) {
		t.Error("the hint is lost")
	}
	// No error in the chain quotes a value.
	var visit func(error)
	visit = func(e error) {
		if e == nil {
			return
		}
		if leak(e.Error(), canary) != "" {
			t.Errorf("%T has the unmasked text %q", e, e)
		}
		if h, ok := e.(interface{ Hint() string }); ok && leak(h.Hint(), canary) != "" {
			t.Errorf("%T has the unmasked hint %q", e, h.Hint())
		}
		switch e := e.(type) { //nolint:errorlint // this is what unwraps
		case interface{ Unwrap() error }:
			visit(e.Unwrap())
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				visit(inner)
			}
		}
	}
	visit(got)
	many := ofMany(got)
	if !strings.Contains(many.Error(), "7 objects") {
		t.Errorf("for 7 objects: got %q, want the count in the text", many)
	}
	visit(many)
	if clean := errors.New("clean"); vault.Deep(event.Applied{Err: clean}, nil).(event.Applied).Err != clean { //nolint:errorlint // the same error
		t.Error("a clean error was wrapped")
	}
}

// several is an error that has another form for several objects.
type several struct{ text string }

func (s *several) Error() string        { return s.text }
func (s *several) Of(objects int) error { return &several{fmt.Sprintf("%d: %s", objects, s.text)} }

// The form of an error for several objects is masked too, and the commands in it are completed.
// That form is a new error, which is not in the chain of the original one.
func TestDeepMasksErrorForSeveralObjects(t *testing.T) {
	vault := redact.NewVault()
	const canary = password + "-battery"
	vault.Learn(aSecret("db", canary))
	then := func(text string) string { return strings.ReplaceAll(text, "slot", "filled") }
	masked := vault.Deep(event.Applied{Err: fmt.Errorf("x: %w", &several{"slot " + canary})}, then).(event.Applied).Err
	speaks, ok := errors.AsType[interface {
		error
		Of(objects int) error
	}](masked)
	if !ok {
		t.Fatal("the masked error has no method Of")
	}
	if got, want := speaks.Of(2).Error(), "2: filled ***"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
