package ownership_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// state contains the owners of each path of an object.
type state map[string][]string

func ownedBy(entries []managedfields.Entry) state {
	s := state{}
	for _, e := range entries {
		for p := range e.Fields.All() {
			text := fieldpath.Path(p).String()
			s[text] = append(s[text], ownerText(e.Owner))
		}
	}
	for path := range s {
		slices.Sort(s[path])
		s[path] = slices.Compact(s[path])
	}
	return s
}

// replay applies transitions, each of which must start from the current state.
func (s state) replay(t *testing.T, transitions []ownership.Transition) {
	t.Helper()
	for _, tr := range transitions {
		path := tr.Path.String()
		if diff := cmp.Diff(s[path], ownerTexts(tr.Before)); diff != "" {
			t.Fatalf("%s: owners before (-state +transition):\n%s", tr, diff)
		}
		if len(tr.After) == 0 {
			delete(s, path)
		} else {
			s[path] = ownerTexts(tr.After)
		}
	}
}

func (s state) compare(t *testing.T, live state) {
	t.Helper()
	if diff := cmp.Diff(live, s); diff != "" {
		t.Fatalf("owners (-live +replayed):\n%s", diff)
	}
}

func ownerTexts(owners []managedfields.Owner) []string {
	var out []string
	for _, o := range owners {
		out = append(out, ownerText(o))
	}
	slices.Sort(out)
	return out
}

func ownerText(o managedfields.Owner) string {
	return fmt.Sprintf("%q %s %q %q", o.Manager, o.Operation, o.Subresource, o.APIVersion)
}
