package readiness

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// recorded is a status of testdata/statuses*.yaml with the expected verdict.
type recorded struct {
	Of     string         `json:"of"`
	Want   string         `json:"want"`
	Object map[string]any `json:"object"`
	// Table is set if only the table of kinds (pkg/condition) evaluates it, and the
	// conventions do not.
	Table bool `json:"table"`
}

func recordedStatuses(t *testing.T) []recorded {
	t.Helper()
	files, err := filepath.Glob("testdata/statuses*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var all []recorded
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var some []recorded
		if err := yaml.UnmarshalStrict(data, &some); err != nil {
			t.Fatal(file, err)
		}
		all = append(all, some...)
	}
	return all
}

// tally counts verdicts on the statuses.
type tally struct{ right, falseReady, falseUnready int }

func (c *tally) add(ready bool, want string) {
	switch {
	case ready == (want == "ready"):
		c.right++
	case ready:
		c.falseReady++
	default:
		c.falseUnready++
	}
}

// Edge case 95: an object that contradicts itself is not ready, and a healthy one does not
// wait for ever. kstatus and the rule that everybody knows are evaluated for comparison.
func TestRecordedStatuses(t *testing.T) {
	var ours, theirs, oneLine tally
	for _, one := range recordedStatuses(t) {
		if one.Table {
			continue
		}
		u := &unstructured.Unstructured{}
		data, err := yaml.Marshal(one.Object)
		if err != nil {
			t.Fatal(err)
		}
		u.Object = parse(t, string(data)).Object
		v := For(u.GroupVersionKind(), false).Evaluate(u.Object, noon())
		got := "not"
		switch {
		case v.Ready:
			got = "ready"
		case v.Failed:
			got = "failed"
		}
		if got != one.Want {
			t.Errorf("%s (%s): want %s, got %s", one.Of, u.GetKind(), one.Want, inWords(v))
		}
		ours.add(v.Ready, one.Want)
		r, err := status.Compute(u)
		theirs.add(err == nil && r.Status == status.CurrentStatus, one.Want)
		oneLine.add(object.ConditionOf(u, "Ready").Status == "True", one.Want)
	}
	t.Logf("ours %+v; kstatus %+v; Ready is True %+v", ours, theirs, oneLine)
}
