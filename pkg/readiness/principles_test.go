package readiness

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Each case is a status of an unknown kind, next to a similar status with another verdict. General
// principles decide, and not the words of one kind.
func TestPrinciples(t *testing.T) {
	for name, tt := range map[string]struct {
		object string
		// want is empty if the object is ready, and otherwise part of the message.
		want string
	}{
		"counts of another noun than replicas":          {`{kind: SidecarPolicy, metadata: {generation: 1}, status: {observedGeneration: 1, matchedPods: 3, updatedPods: 3, readyPods: 3}}`, ""},
		"counts of another noun than replicas, too few": {`{kind: SidecarPolicy, metadata: {generation: 1}, status: {observedGeneration: 1, matchedPods: 3, updatedPods: 3, readyPods: 2}}`, "readyPods is 2 of 3"},
		"current of expected":                           {`{kind: HealthCheck, status: {expectedMachines: 3, currentHealthy: 3}}`, ""},
		"current of expected, too few":                  {`{kind: HealthCheck, status: {expectedMachines: 3, currentHealthy: 2}}`, "currentHealthy is 2 of 3"},
		"zero of zero, observed":                        {`{kind: Pool, metadata: {generation: 2}, spec: {replicas: 0}, status: {observedGeneration: 2, replicas: 0, readyReplicas: 0}}`, ""},
		"zero of zero, not observed":                    {`{kind: Pool, metadata: {generation: 2}, spec: {replicas: 0}, status: {replicas: 0, readyReplicas: 0}}`, "readyReplicas is 0 of 0"},
		"more than wanted":                              {`{kind: Pool, spec: {replicas: 1}, status: {replicas: 3, readyReplicas: 3, conditions: [{type: Ready, status: "True"}]}}`, "replicas is 3, but 1 wanted"},
		"success ends a pause":                          {`{kind: Workflow, spec: {suspend: true}, status: {phase: Succeeded, finishedAt: "2026-11-01T04:00:00Z"}}`, ""},
		"a pause":                                       {`{kind: Workflow, spec: {suspend: true}, status: {phase: Running}}`, "it is paused"},
		"an explanation in a list":                      {`{kind: Cluster, status: {state: error, message: ["no primary: node 2 lost its disk"]}}`, "error: no primary: node 2 lost its disk"},
		"an explanation under another name":             {`{kind: Cluster, status: {state: failed, errorDescription: the disk is gone}}`, "the disk is gone"},
		"an explanation in a map":                       {`{kind: Cluster, status: {state: error, details: {disk: full}}}`, "disk: full"},
		"a copy of the cloud's status":                  {`{kind: Instance, status: {atProvider: {auditStreamStatus: stopped, status: available}, conditions: [{type: Ready, status: "True"}, {type: Synced, status: "True"}]}}`, ""},
		"only the cloud's status":                       {`{kind: Instance, status: {atProvider: {status: failed}}}`, "atProvider.status is failed"},
		"not compliant":                                 {`{kind: FleetPolicy, status: {compliant: NonCompliant, status: [{clustername: east, compliant: NonCompliant}, {clustername: west, compliant: Compliant}]}}`, "NonCompliant; status east.compliant is NonCompliant"},
		"compliant":                                     {`{kind: FleetPolicy, status: {compliant: Compliant, status: [{clustername: east, compliant: Compliant}]}}`, ""},
		"outdated status of one ancestor": {`{kind: TrafficPolicy, metadata: {generation: 2}, status: {ancestors: [
  {ancestorRef: {name: inner}, conditions: [{type: Accepted, status: "True", observedGeneration: 2}]},
  {ancestorRef: {name: outer}, conditions: [{type: Accepted, status: "True", observedGeneration: 1}]}]}}`, "ancestors outer: Accepted is True (of generation 1)"},
		"all ancestors": {`{kind: TrafficPolicy, metadata: {generation: 2}, status: {ancestors: [
  {ancestorRef: {name: inner}, conditions: [{type: Accepted, status: "True", observedGeneration: 2}]},
  {ancestorRef: {name: outer}, conditions: [{type: Accepted, status: "True", observedGeneration: 2}]}]}}`, ""},
		"only partly ready":              {`{kind: ReplicatedSecret, status: {conditions: [{type: PartiallyReady, status: "True", message: 2 of 3 regions refused}]}}`, "2 of 3 regions refused"},
		"partly ready, and ready":        {`{kind: ReplicatedSecret, status: {conditions: [{type: PartiallyReady, status: "True"}, {type: Ready, status: "True"}]}}`, ""},
		"an operation in progress":       {`{kind: Broker, status: {conditions: [{type: Running, status: "True", reason: Running, message: Creating the queue}]}}`, "Creating the queue"},
		"running":                        {`{kind: Broker, status: {conditions: [{type: Running, status: "True", reason: Running, message: All is well}]}}`, ""},
		"a failed item of a list":        {`{kind: Cluster, status: {phase: Ready, shards: [{name: a, state: ready}, {name: b, state: failed}]}}`, "shards b.state is failed"},
		"a boolean result that is false": {`{kind: Check, status: {phase: Ready, pass: false}}`, "pass is false"},
		"active and ready":               {`{kind: Import, status: {conditions: [{type: Ready, status: "True"}, {type: Active, status: "True"}]}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			u := parse(t, tt.object)
			v := For(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: u.GetKind()}).Evaluate(u.Object, noon())
			if v.Ready != (tt.want == "") || !strings.Contains(v.Message, tt.want) {
				t.Errorf("want %q, got %+v", tt.want, v)
			}
		})
	}
}
