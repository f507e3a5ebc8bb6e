package unready_test

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
)

// An object that is ready does not complain, and an object that has failed does. The statuses are
// those that were collected for package readiness.
func TestComplainsAgreesWithReadiness(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "readiness", "testdata", "statuses*.yaml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("no statuses: %v", err)
	}
	checked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cases []struct {
			Of, Want string
			// Table is set if a rule for the kind decides, and not the status in general.
			Table  bool
			Object map[string]any
		}
		if err := yaml.Unmarshal(text, &cases); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if c.Table || c.Want != "ready" && c.Want != "failed" {
				continue
			}
			checked++
			if got := unready.Complains(&unstructured.Unstructured{Object: c.Object}); got != (c.Want == "failed") {
				t.Errorf("%s is %s, but Complains returns %v: %v", c.Of, c.Want, got, c.Object["status"])
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d statuses", checked)
	}
}

// An object in progress does not complain.
func TestComplains(t *testing.T) {
	for message, want := range map[string]bool{
		`conditions: [{type: Available, status: "False", reason: MinimumReplicasUnavailable}, {type: Progressing, status: "True", reason: ReplicaSetUpdated}]`: false,
		`conditions: [{type: Ready, status: "False", reason: ContainersNotReady}]`:                                                                             false,
		`conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]`:                                                                 true,
		`conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate}]`:                                                                           true,
		`conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]`:                                                                           true,
		`conditions: [{type: NonStructuralSchema, status: "True", reason: Violations}]`:                                                                        true,
		`conditions: [{type: NamesAccepted, status: "False", reason: KindConflict}]`:                                                                           true,
		`conditions: [{type: Ready, status: "False", reason: SecretNotFound}]`:                                                                                 true,
		`conditions: [{type: Ready, status: "False", reason: Failed, observedGeneration: 1}]`:                                                                  false,
		`phase: Pending`: false,
		`phase: Failed`:  true,
		`containerStatuses: [{state: {waiting: {reason: ImagePullBackOff}}}]`:  true,
		`containerStatuses: [{state: {waiting: {reason: ContainerCreating}}}]`: false,
	} {
		var object map[string]any
		if err := yaml.Unmarshal([]byte("{kind: Thing, metadata: {generation: 2}, status: {"+message+"}}"), &object); err != nil {
			t.Fatal(err)
		}
		if got := unready.Complains(&unstructured.Unstructured{Object: object}); got != want {
			t.Errorf("Complains(%s) = %v", message, got)
		}
	}
}
