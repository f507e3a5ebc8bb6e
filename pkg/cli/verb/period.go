package verb

import (
	"strconv"
	"strings"
	"time"
)

// Period is a duration that also accepts days.
type Period time.Duration

// Set implements pflag.Value.
func (p *Period) Set(text string) error {
	const day = 24 * time.Hour
	if days, err := strconv.ParseUint(strings.TrimSuffix(text, "d"), 10, 12); err == nil && strings.HasSuffix(text, "d") {
		*p = Period(time.Duration(days) * day)
		return nil
	}
	d, err := time.ParseDuration(text)
	*p = Period(d)
	return err
}

// String implements pflag.Value.
func (p *Period) String() string {
	if *p == 0 {
		return ""
	}
	return time.Duration(*p).String()
}

// Type implements pflag.Value.
func (*Period) Type() string { return "duration" }
