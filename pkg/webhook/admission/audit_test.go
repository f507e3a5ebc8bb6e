package admission

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// The audit log lists the fields that a request takes. For a dry run, or a change in which no owner
// loses a field, it contains nothing.
func TestAudit(t *testing.T) {
	dryRun, dry := update(thing("argo", "1"), thing("flux", "2")), true
	dryRun.DryRun = &dry
	taken := map[string]string{"taken": `[{"path":".spec.a","from":["argo (Apply)"],"by":["flux (Apply)"],"forced":true}]`}
	a := newHandler(t, nil)
	a.evaluate = takings{count: a.count}.evaluate
	_, got := ask(t, a, reviewOf(t, update(thing("argo", "1"), thing("flux", "2"))))
	if diff := cmp.Diff(taken, got.Response.AuditAnnotations); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
	_, got = ask(t, a, reviewOf(t, dryRun))
	if len(got.Response.AuditAnnotations) > 0 {
		t.Errorf("a dry run: %v", got.Response.AuditAnnotations)
	}
	_, got = ask(t, a, reviewOf(t, update(thing("argo", "1"), thing("flux", "1"))))
	if len(got.Response.AuditAnnotations) > 0 {
		t.Errorf("the same value: %v", got.Response.AuditAnnotations)
	}
	if problems := validation.IsQualifiedName("ownership.k8sconnect.io/" + auditTaken); len(problems) > 0 {
		t.Errorf("the audit key is not a qualified name: %v", problems)
	}
}

// The audit annotation is short and valid JSON, however many fields a request takes. It counts the
// fields that it omits.
func TestAuditBounded(t *testing.T) {
	var before []managedfields.Owner
	for n := range 50 {
		before = append(before, managedfields.Owner{Manager: fmt.Sprint(n) + strings.Repeat("m\n", 300), Operation: "Apply"})
	}
	var transitions []ownership.Transition
	for n := range 5000 {
		transitions = append(transitions, ownership.Transition{
			Path: fieldpath.Field("spec", fmt.Sprint(n)+strings.Repeat("ü", 1000)), Kind: ownership.Taken,
			Before: before, After: []managedfields.Owner{{Manager: "flux", Operation: "Update"}},
		})
	}
	text := auditOf(transitions)[auditTaken]
	if len(text) > 2*maxAudit {
		t.Errorf("%d bytes", len(text))
	}
	var entries []auditEntry
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		t.Fatal(err)
	}
	if last := entries[len(entries)-1]; last.More+len(entries)-1 != len(transitions) {
		t.Errorf("%d entries, and %d more", len(entries)-1, last.More)
	}
}
