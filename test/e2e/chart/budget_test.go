package chart_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// pause waits for the next second: the API server orders owners by the time of their last change,
// in seconds.
func pause() { time.Sleep(1100 * time.Millisecond) }

// noConditionErrors fails the test if the API server could not evaluate a condition: it would have
// skipped the webhook silently.
func (s site) noConditionErrors(t *testing.T) {
	t.Helper()
	metrics, err := s.typed.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	evaluated := false
	for line := range strings.Lines(string(metrics)) {
		evaluated = evaluated || strings.HasPrefix(line, "apiserver_admission_match_condition_evaluation_seconds_count")
		if strings.HasPrefix(line, "apiserver_admission_match_condition_evaluation_errors_total") {
			t.Error(strings.TrimSpace(line))
		}
	}
	if !evaluated {
		t.Error("no metrics of match conditions: the API server may have renamed them")
	}
}

// The API server aborts a condition that costs too much, and skips the webhook.
func TestBudgetOfConditions(t *testing.T) {
	s := newSite(t)
	s.namespace(t, "work")
	s.install(t, "budget", "budget-home")
	l := s.listen(t, "budget", "budget-home")
	// 20 owners of some 100 fields each, with names that bring the object to 100 kB and more.
	const name, owners, fields = "large", 20, 100
	for owner := range owners {
		var data strings.Builder
		for field := range fields {
			fmt.Fprintf(&data, "owner-%02d-field-%03d-with-a-name-of-some-length: %q, ", owner, field, "value")
		}
		s.apply(t, configMaps, configMap("work", name, data.String()), fmt.Sprint("owner-", owner))
	}
	live := s.get(t, configMaps, "work", name)
	content, err := live.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if len(content) < 100_000 || len(live.GetManagedFields()) != owners {
		t.Fatalf("%d bytes, %d owners", len(content), len(live.GetManagedFields()))
	}
	t.Logf("%d bytes, %d owners", len(content), owners)
	key := "owner-07-field-050-with-a-name-of-some-length"
	before := l.count("work", name, "/ownership")
	s.update(t, configMaps, "work", name, "another", "taken", "data", key)
	if got := l.count("work", name, "/ownership") - before; got != 1 {
		t.Errorf("a takeover caused %d calls, want 1", got)
	}
	s.update(t, configMaps, "work", name, "another", "again", "data", key)
	if got := l.count("work", name, "/ownership") - before; got != 1 {
		t.Errorf("a takeover and an update by its owner caused %d calls, want 1", got)
	}
	s.noConditionErrors(t)
}
