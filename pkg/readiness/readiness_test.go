package readiness

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// noon is the time at which objects are evaluated by default.
func noon() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

// readyCase is an object and its verdict.
type readyCase struct {
	object string
	// noStatus is set for a kind that has no status.
	noStatus bool
	// timeless is set to evaluate without a time.
	timeless bool
	want     string
	// rests are the expected values of the verdict; nil if they are not compared.
	rests []string
}

func testReady(t *testing.T, cases map[string]readyCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now := noon()
			if tc.timeless {
				now = time.Time{}
			}
			u := parse(t, tc.object)
			rule := For(u.GroupVersionKind())
			if tc.noStatus {
				rule = ForStatusless(u.GroupVersionKind())
			}
			v := rule.Evaluate(u.Object, now)
			if diff := cmp.Diff(tc.want, inWords(v)); diff != "" {
				t.Errorf("the verdict (-want +got):\n%s", diff)
			}
			if tc.rests != nil {
				if diff := cmp.Diff(tc.rests, restsOn(v)); diff != "" {
					t.Errorf("values (-want +got):\n%s", diff)
				}
			}
			if len(v.Values) > 4 {
				t.Errorf("the verdict has %d values", len(v.Values))
			}
		})
	}
}

// inWords formats a verdict on one line.
func inWords(v Verdict) string {
	text := "not ready"
	if v.Ready {
		text = "ready"
	}
	if v.Failed {
		text = "failed"
	}
	text += ", " + v.Reason + ": " + v.Message
	if v.Recheck > 0 {
		text += " [again in " + v.Recheck.String() + "]"
	}
	return text
}

func restsOn(v Verdict) []string {
	out := []string{}
	for _, value := range v.Values {
		text := fmt.Sprintf("%s: %v", value.Expr, value.Value)
		if value.Absent {
			text = value.Expr + " is absent"
		}
		out = append(out, text)
	}
	return out
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestReadyAbsentObject(t *testing.T) {
	v := For(parse(t, "{apiVersion: v1, kind: ConfigMap}").GroupVersionKind()).Evaluate(nil, noon())
	if got, want := inWords(v), "not ready, Absent: it does not exist"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// These verdicts are the same for every kind.
func TestReadyAnyKind(t *testing.T) {
	widget := func(rest string) string {
		return `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, generation: 3}` + rest + "}"
	}
	testReady(t, map[string]readyCase{
		"being deleted": {
			object: `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, deletionTimestamp: "2026-01-01T11:00:00Z"}}`,
			want:   "not ready, Terminating: it is being deleted",
			rests:  []string{"self.metadata.deletionTimestamp: 2026-01-01T11:00:00Z"},
		},
		"edge case 47: status of an older generation": {
			object: widget(`, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}`),
			want:   "not ready, StaleStatus: its status is for generation 2, but the object is at generation 3",
			rests:  []string{"self.metadata.generation: 3", "self.status.observedGeneration: 2"},
		},
		"edge case 47: an older generation as a string": {
			object: widget(`, status: {observedGeneration: "2", conditions: [{type: Ready, status: "True"}]}`),
			want:   "not ready, StaleStatus: its status is for generation 2, but the object is at generation 3",
		},
		"edge case 47: the current generation as a string": {
			object: widget(`, status: {observedGeneration: "3", conditions: [{type: Ready, status: "True"}]}`),
			want:   "ready, Ready: its condition Ready is True",
		},
		"edge case 47: only the condition has a generation": {
			object: widget(`, status: {conditions: [{type: Ready, status: "True", observedGeneration: 2}]}`),
			want:   "not ready, StaleStatus: its condition Ready is for generation 2, but the object is at generation 3",
			rests:  []string{`self.status.conditions[type="Ready"].status: True`, `self.status.conditions[type="Ready"].observedGeneration: 2`, "self.metadata.generation: 3"},
		},
		"edge case 47: only the condition, as a string": {
			object: widget(`, status: {conditions: [{type: Ready, status: "True", observedGeneration: "2"}]}`),
			want:   "not ready, StaleStatus: its condition Ready is for generation 2, but the object is at generation 3",
		},
		"edge case 47: the status is new, the condition old": {
			object: widget(`, status: {observedGeneration: 3, conditions: [{type: Ready, status: "True", observedGeneration: 2}]}`),
			want:   "not ready, StaleStatus: its condition Ready is for generation 2, but the object is at generation 3",
		},
		"a status for a later generation": {
			object: widget(`, status: {observedGeneration: 7, conditions: [{type: Ready, status: "True"}]}`),
			want:   "not ready, StaleStatus: its status is for generation 7, but the object is only at generation 3: the status was restored or copied from another object, and stays until its controller writes a new one",
		},
		"an observed generation that is not a number": {
			object: widget(`, status: {observedGeneration: abc, conditions: [{type: Ready, status: "True"}]}`),
			want:   "ready, Ready: its condition Ready is True",
		},
		"stalled": {
			object: widget(`, status: {conditions: [{type: Ready, status: "False"}, {type: Stalled, status: "True", reason: BadChart, message: "no\n such chart"}]}`),
			want:   "failed, Stalled: its controller is stalled (BadChart): no such chart",
			rests:  []string{`self.status.conditions[type="Stalled"].status: True`},
		},
		"stalled in an older generation": {
			object: widget(`, status: {conditions: [{type: Ready, status: "False", reason: Trying}, {type: Stalled, status: "True", observedGeneration: 2}]}`),
			want:   "not ready, InProgress: its condition Ready is False (Trying)",
		},
		"stalled and reconciling": {
			object: widget(`, status: {conditions: [{type: Stalled, status: "True"}, {type: Reconciling, status: "True", reason: Retry}]}`),
			want:   "not ready, InProgress: its controller is still working on it (Retry)",
		},
		"ready and reconciling": {
			object: widget(`, status: {conditions: [{type: Ready, status: "True"}, {type: Reconciling, status: "True"}]}`),
			want:   "not ready, InProgress: its controller is still working on it",
		},
		"reconciling in an older generation": {
			object: widget(`, status: {conditions: [{type: Ready, status: "True"}, {type: Reconciling, status: "True", observedGeneration: 1}]}`),
			want:   "ready, Ready: its condition Ready is True",
		},
		"malformed fields": {
			object: widget(`, status: {observedGeneration: [1], conditions: {Ready: true}}`),
			want:   "not ready, NoCondition: nothing in its status says whether it is ready; wait for your own expression instead",
		},
		"malformed conditions": {
			object: widget(`, status: {conditions: [7, {status: "True"}, {type: 3, status: "True"}, {type: Ready, status: true}]}`),
			want:   "not ready, NoCondition: nothing in its status says whether it is ready; wait for your own expression instead",
		},
	})
}

// A decoder may return a whole number as a float. It is still read as a whole number.
func TestReadyFloats(t *testing.T) {
	u := parse(t, `{apiVersion: example.com/v1, kind: Widget, status: {conditions: [{type: Ready, status: "True"}]}}`)
	u.Object["metadata"] = map[string]any{"generation": float64(2)}
	u.Object["status"].(map[string]any)["observedGeneration"] = float64(1)
	v := For(u.GroupVersionKind()).Evaluate(u.Object, noon())
	if v.Reason != "StaleStatus" || strings.Contains(v.Message, ".0") {
		t.Errorf("got %s", inWords(v))
	}
}
