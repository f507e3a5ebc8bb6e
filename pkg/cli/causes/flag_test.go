package causes

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// A verb that both waits and deletes has one flag for the causes of waits and deletions. So a code
// in both tables must mean the same, and a code in either table must be found.
func TestCausesOfWaitsAndDeletionsAgree(t *testing.T) {
	waits, deletes := unready.Lastings(), stuck.Lastings()
	for code, lasting := range waits {
		if other, also := deletes[code]; also && other != lasting {
			t.Errorf("%s: %+v as a cause of a wait, %+v as one of a deletion", code, lasting, other)
		}
	}
	var flag Flag
	cmd := &cobra.Command{Use: "apply"}
	flag.Add(cmd, "", waits, deletes)
	endsFor, err := flag.EndsFor(cmd.Flags().Changed, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []map[string]diagnose.Lasting{waits, deletes} {
		for code, want := range table {
			if got := endsFor(event.Cause{Code: code}); want.Ends && got != want.After || !want.Ends && got != 0 {
				t.Errorf("%s: ends after %s, want %+v", code, got, want)
			}
		}
	}
}
