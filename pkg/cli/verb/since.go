package verb

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Since is a flag for the start of a period: a duration that also accepts days, or a time. The zero value
// means no limit.
type Since struct {
	ago time.Duration
	at  time.Time
}

// Set implements pflag.Value.
func (s *Since) Set(text string) error {
	const day, longest = 24 * time.Hour, uint64(math.MaxInt64 / (24 * time.Hour))
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		*s = Since{at: at}
		return nil
	}
	ago, err := time.ParseDuration(text)
	if number, isDays := strings.CutSuffix(text, "d"); isDays {
		var days uint64
		if days, err = strconv.ParseUint(number, 10, 32); err == nil {
			ago = time.Duration(min(days, longest)) * day
		}
	}
	if err != nil || ago <= 0 {
		return errors.New("write a positive duration, such as 90m, 24h or 7d, or a time, such as 2026-01-31T14:00:00Z")
	}
	*s = Since{ago: ago}
	return nil
}

// From returns the start of the period; zero if there is no limit.
func (s *Since) From(now time.Time) time.Time {
	if s.ago > 0 {
		return now.Add(-s.ago)
	}
	return s.at
}

// String implements pflag.Value.
func (s *Since) String() string {
	switch {
	case !s.at.IsZero():
		return s.at.Format(time.RFC3339)
	case s.ago > 0:
		return s.ago.String()
	}
	return ""
}

// Type implements pflag.Value.
func (*Since) Type() string { return "duration|time" }
