package give

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
)

// Fields that the server attributes to this command go to the receiver. If another client wrote in
// between, this is tried again. If it fails, the transfer is still complete, and the stray fields
// are reported.
func TestStrayFieldsGoToReceiver(t *testing.T) {
	puts := func(s *setup) int {
		return len(strings.Split(strings.Join(s.server.calls, "\n"), "put ")) - 1
	}
	late := func(f *fake, name, manager string) {
		if manager == managedfields.Giver {
			u := f.live[name].DeepCopy()
			fields, _, _ := unstructured.NestedSlice(u.Object, "metadata", "managedFields")
			_ = unstructured.SetNestedSlice(u.Object, append(fields, credit("late")), "metadata", "managedFields")
			u.SetResourceVersion(u.GetResourceVersion() + "0")
			f.live[name] = u
		}
	}
	failing := func(err error) func(*fake, string, string) {
		return func(f *fake, _, _ string) { f.refuse = err }
	}
	resource := schema.GroupResource{Resource: "configmaps"}
	release := transfer.Wish{From: []string{"edit"}, Mode: transfer.Release}
	for name, tt := range map[string]struct {
		wish   *transfer.Wish
		before bool // an earlier run has left a stray
		after  func(*fake, string, string)
		exact  bool // the server attributes nothing to us
		owners []string
		puts   int
		says   bool
	}{
		"moved":                            {owners: []string{"flux .data.a", "flux .data.b", "flux .data.set"}, puts: 2},
		"another client writes in between": {after: late, owners: []string{"flux .data.a", "flux .data.b", "flux .data.set", "late .data.set"}, puts: 3},
		"permission is lost after the first write": {
			after: failing(apierrors.NewForbidden(resource, "web", errors.New("no"))), owners: []string{"flux .data.a", "flux .data.b", "k8sconnect-give .data.set"}, puts: 2, says: true,
		},
		"object is deleted after the first write": {after: failing(apierrors.NewNotFound(resource, "web")), owners: []string{"flux .data.a", "flux .data.b", "k8sconnect-give .data.set"}, puts: 2},
		"released":                               {wish: &release, owners: []string{"flux .data.b", "k8sconnect-give .data.set"}, puts: 1, says: true},
		"stray field of an earlier run":          {before: true, exact: true, owners: []string{"flux .data.a", "flux .data.b"}, puts: 1},
		"stray field of an earlier run, release": {before: true, exact: true, wish: &release, owners: []string{"flux .data.b"}, puts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := handing(t, "web")
			s.server.credits, s.server.after = !tt.exact, tt.after
			if tt.before {
				fields, _, _ := unstructured.NestedSlice(s.server.live["web"].Object, "metadata", "managedFields")
				if err := unstructured.SetNestedSlice(s.server.live["web"].Object, append(fields, credit(managedfields.Giver)), "metadata", "managedFields"); err != nil {
					t.Fatal(err)
				}
			}
			if tt.wish != nil {
				s.engine.Wish = *tt.wish
			}
			if err := s.engine.Run(t.Context(), []Target{target("web")}); err != nil {
				t.Error(err)
			}
			got := s.given["web"]
			if got.Action != event.Handed || strings.Contains(got.Reason, ".data.set") != tt.says || puts(s) != tt.puts {
				t.Errorf("%d writes, %+v", puts(s), got)
			}
			if diff := cmp.Diff(tt.owners, s.server.owners(t, "web")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Other changes by a write are reported by path, in order. The server's counters do not count as
// changes, nor do equal numbers of another type.
func TestRewritten(t *testing.T) {
	before := map[string]any{
		"metadata": map[string]any{"name": "a", "resourceVersion": "1", "generation": int64(1), "managedFields": []any{"x"}, "annotations": map[string]any{"a.b/c": "1", "gone": "1"}},
		"spec":     map[string]any{"n": int64(1), "list": []any{"a"}, "same": []any{map[string]any{"k": "v"}}},
	}
	after := map[string]any{
		"metadata": map[string]any{"name": "a", "resourceVersion": "2", "generation": int64(2), "managedFields": []any{}, "annotations": map[string]any{"a.b/c": "2"}},
		"spec":     map[string]any{"n": float64(1), "list": []any{"a", "b"}, "same": []any{map[string]any{"k": "v"}}, "more": map[string]any{"x": "1"}},
	}
	want := []string{`.metadata.annotations["a.b/c"]`, ".metadata.annotations.gone", ".spec.list", ".spec.more"}
	if diff := cmp.Diff(want, rewritten(before, after)); diff != "" {
		t.Error(diff)
	}
	if got := rewritten(before, before); got != nil {
		t.Error(got)
	}
}

// A stray field of an earlier run is transferred like any other field.
func TestStrayFieldIsTransferred(t *testing.T) {
	for _, wish := range []transfer.Wish{
		{From: []string{managedfields.Giver}, To: "flux"},
		{From: []string{managedfields.Giver}, Mode: transfer.Release},
		{Paths: path(t, ".data.set"), To: "flux"},
	} {
		s := handing(t, "web")
		fields, _, _ := unstructured.NestedSlice(s.server.live["web"].Object, "metadata", "managedFields")
		if err := unstructured.SetNestedSlice(s.server.live["web"].Object, append(fields, credit(managedfields.Giver)), "metadata", "managedFields"); err != nil {
			t.Fatal(err)
		}
		if err := unstructured.SetNestedField(s.server.live["web"].Object, "1", "data", "set"); err != nil {
			t.Fatal(err)
		}
		s.engine.Wish = wish
		err := s.engine.Run(t.Context(), []Target{target("web")})
		if got := fmt.Sprint(s.server.owners(t, "web")); err != nil || strings.Contains(got, managedfields.Giver) || strings.Contains(got, "flux .data.set") != (wish.To == "flux") {
			t.Errorf("%+v: %v, %s", wish, err, got)
		}
	}
}
