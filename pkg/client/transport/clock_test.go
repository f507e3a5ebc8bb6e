package transport

import (
	"net/http"
	"testing"
	"time"
)

// A small difference between the clocks is ignored, since a Date has whole seconds, and an answer
// takes a moment.
func TestClock(t *testing.T) {
	sent := time.Date(2026, 1, 2, 3, 4, 5, 600e6, time.UTC)
	for name, test := range map[string]struct {
		date  string
		takes time.Duration
		want  time.Duration
	}{
		"none":                 {},
		"not a date":           {date: "soon"},
		"same second":          {date: "Fri, 02 Jan 2026 03:04:05 GMT", takes: time.Millisecond},
		"a slow answer":        {date: "Fri, 02 Jan 2026 03:04:35 GMT", takes: time.Minute},
		"a little ahead":       {date: "Fri, 02 Jan 2026 03:04:10 GMT"},
		"a little behind":      {date: "Fri, 02 Jan 2026 03:04:00 GMT"},
		"the server is ahead":  {date: "Fri, 02 Jan 2026 04:04:05 GMT", want: time.Hour - 600*time.Millisecond},
		"the server is behind": {date: "Fri, 02 Jan 2026 02:04:05 GMT", want: -time.Hour + 400*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			var c Clock
			header := http.Header{}
			if test.date != "" {
				header.Set("Date", test.date)
			}
			c.compare(header, sent, sent.Add(test.takes))
			if got := time.Duration(c.ahead.Load()); got != test.want {
				t.Errorf("ahead by %s, want %s", got, test.want)
			}
			if off := time.Until(c.Now()) - test.want; off > time.Minute || off < -time.Minute {
				t.Errorf("Now is off by %s", off)
			}
		})
	}
}

// The clock advances evenly, although each Date may be up to a second old. If the server's clock is
// corrected, it follows.
func TestClockIsEven(t *testing.T) {
	var c Clock
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	hear := func(date time.Time) time.Duration {
		c.compare(http.Header{"Date": {date.Format(http.TimeFormat)}}, at, at)
		return time.Duration(c.ahead.Load())
	}
	first := hear(at.Add(time.Hour))
	if second := hear(at.Add(time.Hour - time.Second)); second != first || first != time.Hour {
		t.Errorf("ahead by %s, then by %s, want one hour both times", first, second)
	}
	if right := hear(at); right != 0 {
		t.Errorf("%s", right)
	}
}
