package format

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// An object that does not exist cannot hold another one.
func TestHeldBy(t *testing.T) {
	by := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Namespace: "prod", Name: "key"}
	for code, want := range map[string]bool{"Unschedulable": true, "SecretMissing": false, "NoMetrics": false} {
		if got := slices.Contains(Causes([]event.Cause{{Code: code, BlockedBy: by}}), "  held by  secret/key -n prod"); got != want {
			t.Errorf("%s: %v", code, got)
		}
	}
}

// A recognized cause replaces the condition or event that it explains. If it names the object that
// blocks a namespace, it also replaces the number of objects in the namespace. If no cause is
// recognized, the server's messages stay.
func TestBrief(t *testing.T) {
	refusal := []string{"condition ReplicaFailure: pods are forbidden", "used: pods 1 of 1"}
	for name, test := range map[string]struct{ causes, want []event.Cause }{
		"recognized":              {[]event.Cause{{Code: "QuotaExceeded", Evidence: refusal}}, []event.Cause{{Code: "QuotaExceeded", Evidence: refusal[1:]}}},
		"not":                     {[]event.Cause{{Code: "CreateRefused", Evidence: refusal}}, []event.Cause{{Code: "CreateRefused", Evidence: refusal}}},
		"a namespace":             {[]event.Cause{{Code: "FinalizerUnknown", Evidence: []string{"holds back 1 object in it: configmap/a"}}, {Code: "ContentRemains"}}, []event.Cause{{Code: "FinalizerUnknown", Evidence: []string{"holds back 1 object in it: configmap/a"}}}},
		"only remaining contents": {[]event.Cause{{Code: "ContentRemains"}}, []event.Cause{{Code: "ContentRemains"}}},
		"a deadline":              {[]event.Cause{{Code: "ImagePull"}, {Code: "ProgressDeadlineExceeded"}}, []event.Cause{{Code: "ImagePull"}}},
		"doubtful cause does not explain a deadline": {[]event.Cause{{Code: "NotAllowed", Doubt: true}, {Code: "ProgressDeadlineExceeded"}}, []event.Cause{{Code: "NotAllowed"}, {Code: "ProgressDeadlineExceeded"}}},
		"none": {nil, nil},
	} {
		before := slices.Clone(refusal)
		if got := Brief(test.causes); !slices.EqualFunc(got, test.want, func(a, b event.Cause) bool { return a.Code == b.Code && slices.Equal(a.Evidence, b.Evidence) }) {
			t.Errorf("%s: %+v", name, got)
		}
		if !slices.Equal(refusal, before) {
			t.Fatalf("%s: the evidence itself was changed", name)
		}
	}
}
