package stall

import "time"

// purse holds the requests that may be sent. It fills up to full, at full a minute. What
// costs more than it holds is paid later: nothing else is bought until then.
type purse struct {
	full, holds float64
	at          time.Time
}

func newPurse(aMinute int, now time.Time) purse {
	return purse{full: float64(aMinute), holds: float64(aMinute), at: now}
}

// has is how much there is by then.
func (p *purse) has(now time.Time) float64 {
	return min(p.full, p.holds+p.full*now.Sub(p.at).Minutes())
}

func (p *purse) pay(now time.Time, requests float64) {
	p.holds, p.at = p.has(now)-requests, now
}
