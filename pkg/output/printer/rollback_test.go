package printer

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

// A rollback restores values, but not an owner that has since applied at another API version. The
// report names such values and that owner.
func TestUnownedAfterARollback(t *testing.T) {
	ref := object.Ref{GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gizmo"}, Namespace: "prod", Name: "g"}
	path := fieldpath.Path{fieldpath.FieldElement("spec"), fieldpath.FieldElement("size")}
	for format, want := range map[string][]string{
		output.Table: {"restored    gizmo.example.com/g -n prod", "unowned  .spec.size  alice could not get it back, because that manager has since applied at another API version"},
		output.JSON:  {`"unreturned":[{"manager":"alice","paths":[".spec.size"]}]`, `"action":"restored"`},
		output.JUnit: {"alice could not get back: .spec.size"},
	} {
		var out bytes.Buffer
		p, err := For(OfApply, output.Options{Format: format, Out: &out, Err: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		p.Print(event.Planned{Phases: []event.Phase{{Total: 1, Refs: []object.Ref{ref}}}})
		p.Print(event.Applied{Ref: ref, Action: event.Configured})
		p.Print(event.RolledBack{Ref: ref, Action: event.Restored, Unreturned: []event.Unreturned{{Manager: "alice", Paths: []fieldpath.Path{path}}}})
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		if format == output.JSON {
			got = strings.Join(strings.Fields(got), "")
		}
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q is missing:\n%s", format, part, out.String())
			}
		}
	}
}
