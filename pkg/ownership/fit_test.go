package ownership

import (
	"fmt"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// A record lists or counts each transition of a write, however many there are, and only those that
// it lists have to be queued. Two replicas that report the same write count it once.
func TestFit(t *testing.T) {
	from, to := []managedfields.Owner{{Manager: "flux", Operation: "Apply"}}, []managedfields.Owner{{Manager: "argo", Operation: "Apply"}}
	for _, n := range []int{1, maxEntries - 1, maxEntries, maxEntries + 1, 300, 3000} {
		r := NewRecord(Object{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a", Name: "b", UID: "c"}, "")
		for write := range 3 {
			var occurrences []Occurrence
			for i := range n {
				kind := Taken
				if i%7 == 3 {
					kind = Claimed // It is not notable.
				}
				occurrences = append(occurrences, Occurrence{
					Transition: Transition{Path: fieldpath.Field("data", fmt.Sprintf("k%d-%04d", write, i)), Before: from, After: to, Kind: kind},
					Occasion:   Occasion{ResourceVersion: fmt.Sprint(10 + write), Time: time.Unix(int64(write), 0)},
				})
			}
			notable, queued := 0, 0
			Fit(occurrences)
			for _, o := range occurrences {
				if o.Notable() {
					notable++
				}
				if o.Notable() && !o.Excess {
					queued++
				}
			}
			if want := min(notable, maxEntries); queued != want {
				t.Errorf("%d of %d transitions are queued, want %d", queued, notable, want)
			}
			for range 2 { // replicas
				for _, o := range occurrences {
					r.Add(o.Transition, o.Occasion)
				}
			}
			if got, want := len(r.Entries)+r.Dropped, (write+1)*notable; got != want {
				t.Errorf("%d writes of %d: %d listed and %d dropped, want %d together", write+1, notable, len(r.Entries), r.Dropped, want)
			}
		}
	}
}
