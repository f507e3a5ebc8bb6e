package e2e_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// checkTree compares an object's tree with its managed fields: it contains each owned path once,
// with exactly its owners. It returns the number of paths, and how many the object does not have.
func checkTree(t *testing.T, where string, live *unstructured.Unstructured) (held, absent int) {
	t.Helper()
	entries, err := managedfields.Entries(live)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return 0, 0
	}
	want := map[string][]managedfields.Owner{}
	for _, e := range entries {
		for p := range e.Fields.All() {
			text := fieldpath.Path(p).String()
			want[text] = append(want[text], e.Owner)
			slices.SortFunc(want[text], managedfields.Owner.Compare)
		}
	}
	got := map[string][]managedfields.Owner{}
	fields, missing := managedfields.Tree(live.Object, entries)
	managedfields.Walk(slices.Concat(fields, missing), func(n managedfields.Node) {
		text := n.Path.String()
		if _, twice := got[text]; twice {
			t.Errorf("%s: %s is there twice", where, text)
		}
		if len(n.Owners) == 0 {
			return
		}
		got[text] = n.Owners
		if n.Absent {
			absent++
		} else if _, there := n.Path.Get(live.Object); !there {
			t.Errorf("%s: the object has no %s", where, text)
		}
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-managed fields +tree):\n%s", where, diff)
	}
	return len(got), absent
}
