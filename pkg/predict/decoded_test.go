package predict

import (
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// Between Reuse and its end, the managed fields of a state are decoded once, and no question changes them:
// they are still those of the object after all questions. A prediction that is kept does not keep them.
func TestReuse(t *testing.T) {
	live, manifest := fieldstest.Read(t, fieldstest.WebLive), fieldstest.Read(t, fieldstest.Web)
	p := Predictor{Manager: fieldstest.Us}
	in, err := p.Evaluate(plan.Item{Object: manifest}, live)
	if err != nil {
		t.Fatal(err)
	}
	if in.decoded != nil {
		t.Error("the prediction keeps decoded fields")
	}
	in.Answer = live.DeepCopy()
	end := in.Reuse()
	first, err := in.Entries(live)
	if err != nil || len(first) == 0 {
		t.Fatalf("%v, %v", first, err)
	}
	_, _ = p.View(&in, in.Answer)
	_, _ = p.Left(&in, in.Answer)
	_, _ = p.Rewritten(&in, in.Answer)
	for range 2 { // An inner end does not end the outer reuse.
		in.Reuse()()
		if again, _ := in.Entries(live); &again[0] != &first[0] {
			t.Error("the managed fields are decoded again")
		}
	}
	if got := len(in.decoded.states); got != 2 {
		t.Errorf("%d states are decoded, want the live object and the answer", got)
	}
	want, err := managedfields.Entries(live)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range want {
		if !first[i].Equal(e.Owner) || !first[i].Fields.Equals(e.Fields) {
			t.Errorf("the fields of %s were changed", e.Owner)
		}
	}
	end()
	if in.decoded != nil {
		t.Error("the decoded fields are kept after the end")
	}
}
