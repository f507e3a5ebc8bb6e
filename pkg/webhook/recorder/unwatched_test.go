package recorder_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/recorder"
)

// One replica saw a change over unwatched time, from argo to helm. Another replica saw the last
// step of this change, from flux to helm. In either order of reports, the Event describes the last
// step.
func TestEventOfAStepInUnwatchedTime(t *testing.T) {
	for name, stepFirst := range map[string]bool{"the step comes last": false, "the step comes first": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, recorder.Options{}, func(t *testing.T, d *desk) {
				d.Lead(true)
				net := taken("a", 0, 2)
				net.Kind, net.Forced = ownership.Lost, false
				reports := []func(ownership.Occasion){
					func(at ownership.Occasion) { at.Gap = true; d.record("web", net, at) },
					func(at ownership.Occasion) { at.User = "alice"; d.record("web", taken("a", 1, 2), at) },
				}
				if stepFirst {
					reports[0], reports[1] = reports[1], reports[0]
				}
				for _, report := range reports {
					report(ownership.Occasion{ResourceVersion: "200", Time: time.Now()})
					after(time.Hour)
				}
				want := "Warning FieldOwnershipTaken on Thing/web: .spec.a taken from flux (Apply) by helm (Apply)\n"
				if diff := cmp.Diff(want, d.events.text()); diff != "" {
					t.Errorf("events (-want +got):\n%s\nentries: %q", diff, d.entries())
				}
			})
		})
	}
}
