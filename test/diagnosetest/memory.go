package diagnosetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// Memory is a [diagnose.Reader] over objects in memory. It records the requests.
type Memory struct {
	Objects []*unstructured.Unstructured
	Answers

	mu    sync.Mutex
	asked []string
}

// Answers are a server's answers other than objects.
type Answers struct {
	// Failing contains the error for each kind that cannot be read, by Kind, or by Kind/name for
	// one object.
	Failing map[string]error
	// Refusal is the answer to a dry run that removes a finalizer.
	Refusal error
	// May lists what users are allowed to do, as "user verb".
	May []string
}

// Now is the time in all tests.
func Now() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

// Read parses objects separated by lines of dashes.
func Read(t *testing.T, text string) (objects []*unstructured.Unstructured) {
	t.Helper()
	for doc := range strings.SplitSeq(text, "\n---\n") {
		objects = append(objects, fieldstest.Read(t, doc))
	}
	return objects
}

// Asked returns the requests, sorted.
func (m *Memory) Asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(slices.Values(m.asked))
}

func (m *Memory) ask(ctx context.Context, verb string, gvk schema.GroupVersionKind, rest string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, strings.TrimSpace(verb+" "+gvk.Kind+" "+rest))
	return cmp.Or(m.Failing[gvk.Kind+"/"+rest], m.Failing[gvk.Kind], context.Cause(ctx))
}

// Get returns the object, or nil.
func (m *Memory) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	if err := m.ask(ctx, "get", gvk, name); err != nil {
		return nil, err
	}
	return m.find(object.Ref{GVK: gvk, Namespace: namespace, Name: name}), nil
}

// Exists reports whether the object exists.
func (m *Memory) Exists(ctx context.Context, ref object.Ref) (bool, error) {
	err := m.ask(ctx, "exists", ref.GVK, ref.Name)
	return err == nil && m.find(ref) != nil, err
}

func (m *Memory) find(ref object.Ref) *unstructured.Unstructured {
	for _, u := range m.Objects {
		if object.RefOf(u) == ref {
			return u.DeepCopy()
		}
	}
	return nil
}

// Select visits the selected objects. It ignores field selectors.
func (m *Memory) Select(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection, fields string, visit func(*unstructured.Unstructured)) error {
	if err := m.ask(ctx, "list", gvk, sel.Labels+fields); err != nil {
		return err
	}
	objects, err := m.selected(gvk, sel)
	for i := range objects {
		visit(&objects[i])
	}
	return err
}

func (m *Memory) selected(gvk schema.GroupVersionKind, sel object.Selection) ([]unstructured.Unstructured, error) {
	selector, err := labels.Parse(sel.Labels)
	if err != nil {
		return nil, err
	}
	var found []unstructured.Unstructured
	for _, u := range m.Objects {
		if u.GroupVersionKind() == gvk && (sel.Namespace == "" || u.GetNamespace() == sel.Namespace) && selector.Matches(labels.Set(u.GetLabels())) {
			found = append(found, *u.DeepCopy())
		}
	}
	return found, nil
}

// Metadata returns the metadata of the selected objects.
func (m *Memory) Metadata(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection) ([]unstructured.Unstructured, error) {
	if err := m.ask(ctx, "metadata", gvk, ""); err != nil {
		return nil, err
	}
	objects, err := m.selected(gvk, sel)
	for _, u := range objects {
		maps.DeleteFunc(u.Object, func(field string, _ any) bool { return field != "metadata" && field != "kind" && field != "apiVersion" })
	}
	return objects, err
}

// Kinds returns the kinds of the objects.
func (m *Memory) Kinds(ctx context.Context) ([]object.Kind, error) {
	if err := m.ask(ctx, "discover", schema.GroupVersionKind{Kind: "kinds"}, ""); err != nil {
		return nil, err
	}
	var kinds []object.Kind
	for _, u := range m.Objects {
		k := object.Kind{
			GVK: u.GroupVersionKind(), Resource: strings.ToLower(u.GetKind()) + "s",
			Namespaced: u.GetNamespace() != "", Verbs: []string{"list", "delete", "get"},
		}
		if !slices.ContainsFunc(kinds, func(o object.Kind) bool { return o.GVK == k.GVK }) {
			kinds = append(kinds, k)
		}
	}
	return kinds, nil
}

// DryRunRemoveFinalizer returns Refusal.
func (m *Memory) DryRunRemoveFinalizer(_ context.Context, ref object.Ref, _ *unstructured.Unstructured, finalizer string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, "replay "+ref.String()+" "+finalizer)
	return m.Refusal
}

// Allowed reports whether May lists the user with the verb.
func (m *Memory) Allowed(_ context.Context, user, verb string, _ object.Ref) (bool, error) {
	return slices.Contains(m.May, user+" "+verb), nil
}

// Forbidden returns the server's answer to a user who may not read a kind.
func Forbidden(kind string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", nil)
}
