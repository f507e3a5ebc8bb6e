package give

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
)

func onePath(t *testing.T, text string) fieldpath.Path {
	t.Helper()
	return path(t, text)[0]
}

// Fields are reported together only if they have the same former owner and receiver, and the former
// owner keeps all of them or none.
func TestMovesAreGroupedByOwnersAndSharing(t *testing.T) {
	helm, edit := managedfields.Owner{Manager: "helm"}, managedfields.Owner{Manager: "kubectl-edit"}
	flux, argo := managedfields.Owner{Manager: "flux"}, managedfields.Owner{Manager: "argocd"}
	got := movesOf([]transfer.Given{
		{Path: onePath(t, ".data.a"), From: helm, To: flux},
		{Path: onePath(t, ".data.b"), From: helm, To: flux},
		{Path: onePath(t, ".data.c"), From: helm, To: flux, Shared: true},
		{Path: onePath(t, ".data.d"), From: edit, To: flux},
		{Path: onePath(t, ".data.e"), From: helm, To: argo},
		{Path: onePath(t, ".data"), From: helm, To: flux, Inner: true},
	})
	var counts []int
	for _, m := range got {
		counts = append(counts, len(m.Paths))
	}
	if len(got) != 4 || counts[0] != 2 || got[0].Shared || !got[1].Shared || !got[2].From.Equal(edit) || !got[3].To.Equal(argo) {
		t.Errorf("got %+v, want .data.a with .data.b, and three moves of one field", got)
	}
	parents := movesOf([]transfer.Given{{Path: onePath(t, ".data"), From: helm, To: flux, Inner: true}})
	if len(parents) != 1 {
		t.Errorf("got %+v, want the parent, because no other field moved", parents)
	}
}

func TestKeptFieldsAreGroupedByOwnerAndReason(t *testing.T) {
	helm, edit := managedfields.Owner{Manager: "helm", APIVersion: "apps/v1beta1"}, managedfields.Owner{Manager: "kubectl-edit", APIVersion: "apps/v1"}
	got := keptOf([]transfer.Left{
		{Path: onePath(t, ".data.a"), Owner: helm, Why: transfer.Undeclared},
		{Path: onePath(t, ".data.b"), Owner: helm, Why: transfer.Undeclared},
		{Path: onePath(t, ".data.c"), Owner: helm, Why: transfer.OtherVersion},
		{Path: onePath(t, ".data.d"), Owner: edit, Why: transfer.Undeclared},
	})
	if len(got) != 3 || len(got[0].Paths) != 2 || got[0].Why == got[1].Why || !got[2].Owner.Equal(edit) {
		t.Errorf("got %+v, want .data.a with .data.b, and two fields alone", got)
	}
}

// A receiver that updates keeps fields that its manifest lacks, so there is no warning about them.
func TestUndeclaredFieldsOfAnApplier(t *testing.T) {
	for operation, want := range map[string]int{managedfields.Apply: 1, managedfields.Update: 0} {
		to := managedfields.Owner{Manager: "flux", Operation: operation}
		a, b := onePath(t, ".data.a"), onePath(t, ".data.b")
		got := undeclared(
			transfer.Wish{To: "flux", Declared: map[string]any{"data": map[string]any{"b": "1"}}},
			transfer.Outcome{
				Entries: []managedfields.Entry{{Owner: to, Fields: fieldpath.NewSet(a, b)}},
				Given:   []transfer.Given{{Path: a, To: to}, {Path: b, To: to}},
			})
		if len(got) != want {
			t.Errorf("%s: got %v, want %d paths", operation, got, want)
		}
	}
}
