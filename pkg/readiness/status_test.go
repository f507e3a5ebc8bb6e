package readiness

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func read(t *testing.T, text string) []string {
	t.Helper()
	var obj map[string]any
	if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, s := range Read(obj) {
		sum := ""
		if s.Sum {
			sum = ", sum"
		}
		out = append(out, fmt.Sprintf("%s [%d%s]", s, s.Meaning, sum))
	}
	return out
}

func TestRead(t *testing.T) {
	got := read(t, `{kind: Widget, metadata: {generation: 2, annotations: {example.com/paused: "true"}}, spec: {replicas: 3}, status: {phase: Ready, lastPhase: Failed,
  conditions: [{type: Synced, status: "True"}, {type: Ready, status: "False", reason: NoDisk, message: full}, {type: Ready2, status: "True", observedGeneration: 1}],
  readyReplicas: 2, disk: {health: red}, readyToUse: false, listeners: [{name: a, conditions: [{type: Accepted, status: "False"}]}]}}`)
	want := []string{
		"Ready is False (NoDisk): full [5, sum]",
		"Synced is True [2, sum]",
		"phase is Ready [2, sum]",
		"readyToUse is false [5, sum]",
		"the annotation example.com/paused is true [6]",
		"readyReplicas is 2 of 3 [5]",
		"Ready2 is True [0, sum]",
		"disk.health is red [7]",
		"listeners a: Accepted is False [5]",
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A name is understood by its structure, so new names need no change.
func TestNameClass(t *testing.T) {
	for name, want := range map[string]string{
		"SecretSynced": "good", "readyToUse": "good", "ACK.ResourceSynced": "good", "HEALTH_OK": "good",
		"NotReady": "not good", "NoErrors": "not bad", "ReplicaFailure": "bad", "HasErrors": "bad", "Unreachable": "bad",
		"NotAllReplicasReady": "not good", "NeverFullySynced": "not good", "ReadyNotDegraded": "not bad", "NoNodesReady": "not good",
		"Health": "good", "Accomplished": "good", "ErrorsDetected": "bad", "ChangeDetected": "none",
		"LiveMigratable": "neutral", "Upgradeable": "neutral", "UpgradeAvailable": "neutral", "Warning": "neutral", "NoWarnings": "neutral",
		"ScalingUp": "working", "RollingUpdate": "working", "Frobnicating": "working", "OutOfSync": "bad",
		"ContinuousArchiving": "none", "PodScheduled": "step", "QuotaReserved": "step", "AgentConnected": "mild", "TLSReady": "good",
	} {
		c, negated := nameClass(split(name))
		got := map[class]string{good: "good", mild: "mild", runs: "runs", step: "step", working: "working", paused: "paused", bad: "bad", neutral: "neutral", none: "none"}[c]
		if negated {
			got = "not " + got
		}
		if got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// A phrase is understood by its structure: a negation also applies to later words, and completed
// work is not in progress.
func TestPhraseClass(t *testing.T) {
	for phrase, want := range map[string]class{
		"EgressFirewall Rules applied": mild, "EgressFirewall Rules not correctly applied": working, "not yet fully synced": working,
		"No errors, all ready": good, "ready, not degraded": good, "Fencing-Completed": good, "Fencing-Started": working,
		"RollingUpdateNotCompleted": working, "PartiallyCompleted": working, "PartiallyFailed": bad, "CompletedWithErrors": bad,
		"Cluster in healthy state": good, "WaitingForReady": working, "DBClusterReady": good, "HEALTH_WARN": working,
	} {
		if got := phraseClass(phrase); got != want {
			t.Errorf("%q is of class %d, want %d", phrase, got, want)
		}
	}
}

func TestReasons(t *testing.T) {
	for reason, want := range map[string]string{
		"ReconcileFailed": "error", "ErrInitIssuer": "error", "Sync_Failed": "error", "RefNotPermitted": "error", "SourceNotFound": "error, wanting",
		"CrashLoopBackOff": "error", "DependencyNotReady": "", "Creating": "", "NotRequired": "benign", "BackupDisabled": "benign",
		"NoConflicts": "done", "NewReplicaSetAvailable": "done", "ReplicaSetUpdated": "", "": "", "AsExpected": "benign",
	} {
		got := ""
		switch {
		case isFinal(reason):
			got = "error"
		case isErrorReason(reason):
			got = "error, wanting"
		case isBenign(reason):
			got = "benign"
		case isDone(reason):
			got = "done"
		}
		if got != want {
			t.Errorf("%q is %q, want %q", reason, got, want)
		}
	}
}

// Reading any object does not panic.
func FuzzRead(f *testing.F) {
	f.Add(`{"kind": "", "status": {"": "", "conditions": [{"type": ".", "status": "True"}], "-": [{}], "ready": "1/"}}`)
	f.Fuzz(func(_ *testing.T, text string) {
		var obj map[string]any
		if yaml.Unmarshal([]byte(text), &obj) == nil {
			Read(obj)
		}
	})
}
