package transport

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfterForms(t *testing.T) {
	tests := map[string]struct {
		header   string
		min, max time.Duration
	}{
		"none":     {},
		"seconds":  {header: "120", min: 2 * time.Minute, max: 2 * time.Minute},
		"negative": {header: "-5"},
		"date":     {header: time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), min: 59 * time.Minute, max: time.Hour},
		"past":     {header: "Fri, 31 Dec 1999 23:59:59 GMT"},
		"words":    {header: "soon"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := retryAfter(tt.header); got < tt.min || got > tt.max {
				t.Errorf("%s, want %s to %s", got, tt.min, tt.max)
			}
		})
	}
}
