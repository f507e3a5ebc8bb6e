package readiness

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// recorded is a status in testdata/statuses*.yaml with the expected verdict.
type recorded struct {
	Of     string         `json:"of"`
	Want   string         `json:"want"`
	Object map[string]any `json:"object"`
	// Table is set if only the table of kinds (pkg/condition) has the right verdict.
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

// tally counts right and wrong verdicts on the statuses.
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

// Edge case 95: an object whose statements contradict each other is not ready, and a wait for a
// healthy object ends. For comparison, the test also counts the verdicts of kstatus and of the
// condition Ready alone.
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
		v := For(u.GroupVersionKind()).Evaluate(u.Object, noon())
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

// If a fault is added to a healthy status, the fault outranks everything good in it.
func TestFaultsOutrankHealthyStatus(t *testing.T) {
	condition := func(kind, value, reason string) func(map[string]any) {
		return func(status map[string]any) {
			list, _ := status["conditions"].([]any)
			status["conditions"] = append(slices.Clone(list), map[string]any{"type": kind, "status": value, "reason": reason})
		}
	}
	field := func(name string, value any) func(map[string]any) {
		return func(status map[string]any) { status[name] = value }
	}
	const underWay = "it is being changed"
	tried := 0
	for _, one := range recordedStatuses(t) {
		u := &unstructured.Unstructured{Object: one.Object}
		status, found, _ := unstructured.NestedMap(u.Object, "status")
		if one.Want != "ready" || one.Table || !found || ruleOf(u.GroupVersionKind().GroupKind()) != nil {
			continue
		}
		tried++
		for name, deny := range map[string]func(map[string]any){
			"a part is degraded":                 condition("StorageDegraded", "True", ""),
			"not all of it is ready":             condition("NotAllPartsReady", "True", ""),
			"a step has an error for a reason":   condition("DiskCreated", "True", "CreateFailed"),
			underWay:                             condition("Upgrading", "True", "NewVersion"),
			"a negation that is not adjacent":    field("diskState", "not fully synced"),
			"a good state with a negation after": field("diskState", "Synced, but not correctly applied"),
			"an error":                           field("diskError", "no space left"),
			"a health that is red":               field("health", "red"),
			"a count that is short":              field("disks", map[string]any{"readyDisks": int64(1), "desiredDisks": int64(2)}),
			"a boolean that reports a fault":     field("notSynced", true),
		} {
			if name == underWay && hasEnded(u) {
				continue
			}
			denied := u.DeepCopy()
			changed := runtime.DeepCopyJSON(status)
			deny(changed)
			denied.Object["status"] = changed
			if v := For(u.GroupVersionKind()).Evaluate(denied.Object, noon()); v.Ready {
				t.Errorf("%s (%s): ready although %s: %s", one.Of, u.GetKind(), name, inWords(v))
			}
		}
	}
	if tried < 200 {
		t.Errorf("only %d statuses were tried", tried)
	}
}

// hasEnded reports whether an object represents work that is done. Some controllers leave Running
// at True on such an object.
func hasEnded(u *unstructured.Unstructured) bool {
	return slices.ContainsFunc([]string{"Complete", "Completed", "Succeeded", "Succeed"}, func(kind string) bool {
		return object.ConditionOf(u, kind).Status == "True"
	})
}
