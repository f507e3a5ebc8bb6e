package verb

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// A verb that waits and deletes has one flag for the causes of both. So a code that both tables
// have is the same in both, and each table is found.
func TestCausesOfTwoTables(t *testing.T) {
	waits, deletes := UnreadyCauses(), StuckCauses()
	for _, code := range waits.Codes {
		if !slices.Contains(deletes.Codes, code) {
			continue
		}
		after, ends := waits.Lasting(code)
		if other, also := deletes.Lasting(code); other != after || also != ends {
			t.Errorf("%s: %s %t as a cause of a wait, %s %t as one of a deletion", code, after, ends, other, also)
		}
	}
	var flag CauseFlag
	cmd := &cobra.Command{Use: "apply"}
	flag.Add(cmd, "", waits, deletes)
	endsFor, err := flag.EndsFor(cmd.Flags().Changed, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []Causes{waits, deletes} {
		for _, code := range table.Codes {
			after, ends := table.Lasting(code)
			if got := endsFor(event.Cause{Code: code}); ends && got != after || !ends && got != 0 {
				t.Errorf("%s: ends after %s, want %s %t", code, got, after, ends)
			}
		}
	}
}
