package recorder

import "time"

// pace bounds how often records are written in the whole cluster: a bucket of
// tokens from which every replica takes for its own writes and for those that it
// sees others make. It reads no clock.
type pace struct {
	rate   float64 // tokens a second
	burst  float64 // tokens at most; as many may be owed
	tokens float64
	at     time.Time // when tokens was right
}

func newPace(rate float64, burst int) pace {
	return pace{rate: rate, burst: float64(burst), tokens: float64(burst)}
}

// fill adds the tokens that have accrued since.
func (p *pace) fill(now time.Time) {
	if !p.at.IsZero() && now.After(p.at) {
		p.tokens = min(p.burst, p.tokens+now.Sub(p.at).Seconds()*p.rate)
	}
	if p.at.IsZero() || now.After(p.at) {
		p.at = now
	}
}

// ready returns when there is a token: now, if there is one already.
func (p *pace) ready(now time.Time) time.Time {
	p.fill(now)
	if p.tokens >= 1 {
		return now
	}
	wait := time.Duration((1 - p.tokens) / p.rate * float64(time.Second))
	return now.Add(wait + time.Nanosecond) // rounded up, so that there is one then
}

// spend takes a token, possibly going into debt.
func (p *pace) spend(now time.Time) {
	p.fill(now)
	p.tokens = max(-p.burst, p.tokens-1)
}

// refund returns a token that was not used.
func (p *pace) refund() { p.tokens = min(p.burst, p.tokens+1) }
