package diagnose_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/test/diagnosetest"
)

// If rules never stop asking, Fill still returns, and their open questions are unknown (edge case
// 67).
func TestFillStopsIfRulesKeepAsking(t *testing.T) {
	gatherer := diagnose.Gatherer{Reader: &diagnosetest.Memory{}, Now: diagnosetest.Now}
	facts := diagnose.NewFacts()
	rules := func(r *diagnose.Run) {
		for i := 0; ; i++ {
			if _, sure := r.Get(diagnose.KindOf("v1", "Pod"), "prod", "p-"+strconv.Itoa(i)); !sure {
				return
			}
		}
	}
	if err := gatherer.Fill(t.Context(), facts, rules); err != nil {
		t.Fatal(err)
	}
	r := diagnose.NewRun(diagnosetest.Now(), facts)
	rules(r)
	unanswered := 0
	for q, err := range r.Unanswered() {
		unanswered++
		if !errors.Is(err, diagnose.ErrNotAsked) {
			t.Errorf("%s: %v", q, err)
		}
	}
	if unanswered != 1 || r.Misses() != 0 {
		t.Errorf("got %d unanswered questions and %d misses after %d requests, want 1 and 0", unanswered, r.Misses(), gatherer.Requests())
	}
}
