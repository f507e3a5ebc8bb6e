package verb_test

import (
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
)

// A period is a duration, with days, or begins at a time. All else is refused with the forms that are accepted.
func TestSince(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"90m": "2026-11-29T10:30:00Z", "1h30m": "2026-11-29T10:30:00Z", "2d": "2026-11-27T12:00:00Z", "10000d": "1999-07-14T12:00:00Z",
		"4000000000d":          "1734-08-21T12:00:00Z", // A duration has 292 years.
		"2026-01-01T00:00:00Z": "2026-01-01T00:00:00Z", "2026-01-01T02:00:00+02:00": "2026-01-01T00:00:00Z",
		"": "", "0": "", "0s": "", "0d": "", "-1h": "", "-1d": "", "d": "", "1": "", "1w": "", "1d12h": "", "yesterday": "", "2026-01-01": "", "99999999999999999999d": "",
	} {
		var s verb.Since
		err := s.Set(text)
		if got := s.From(now).UTC().Format(time.RFC3339); err == nil && got != want || (err == nil) != (want != "") {
			t.Errorf("%s: from %s, want %s; %v", text, got, want, err)
		}
		if err != nil && !strings.Contains(err.Error(), "such as 90m, 24h or 7d, or a time, such as 2026-01-31T14:00:00Z") {
			t.Errorf("%s: %v without the accepted forms", text, err)
		}
	}
}
