package ownership_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// One replica saw values and sends its verdicts at one byte per transition. With them, another
// replica reaches the same result (edge case 98).
func TestVerdicts(t *testing.T) {
	for name, tt := range stories {
		t.Run(name, func(t *testing.T) {
			old, now := thing(t, orV1(tt.version), tt.before, orEmpty(tt.spec)), thing(t, orV1(tt.thenVersion), tt.after, orEmpty(tt.then))
			before, after := ownership.Tracked(old.GetManagedFields()), ownership.Tracked(now.GetManagedFields())
			seen, err := ownership.BetweenObjects(before, after, func() (_, _ *unstructured.Unstructured, err error) { return old, now, nil })
			if err != nil {
				t.Fatal(err)
			}
			blind, err := ownership.Between(before, after)
			if err != nil {
				t.Fatal(err)
			}
			verdicts := ownership.VerdictsOn(seen)
			if !verdicts.On(blind) {
				t.Fatal("verdicts.On() = false for the same transitions, want true")
			}
			if diff := cmp.Diff(seen, blind); diff != "" {
				t.Errorf("transitions (-seen +from verdicts):\n%s", diff)
			}
			if len(seen) > 0 && verdicts.On(seen[1:]) {
				t.Error("verdicts.On() = true for other transitions, want false")
			}
			if verdicts.Size() > len(seen) {
				t.Errorf("%d bytes for %d transitions", verdicts.Size(), len(seen))
			}
		})
	}
}

func orV1(version string) string {
	if version == "" {
		return "v1"
	}
	return version
}
