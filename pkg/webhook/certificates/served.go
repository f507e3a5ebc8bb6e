package certificates

import "time"

// served is the served certificate, and whether the replica may take calls.
type served struct {
	by *authority
	// ok says that the webhook configuration trusts it, from the time from which
	// calls may be accepted.
	ok   bool
	from time.Time
}

// ready reports whether calls may be accepted.
func (s served) ready(now time.Time) bool {
	return s.ok && !now.Before(s.from) && s.by.usable(now)
}

// serve returns what is served after before.
func (r rules) serve(before served, v view, now time.Time) served {
	by := v.choose(before.by, now)
	switch {
	case by == nil || v.config.there() && !v.config.trusts(by.cert):
		return served{by: by}
	case !v.config.there() || v.current == by:
		return served{by: by, ok: true}
	case v.next == by:
		// It is used for serving only if there is no other. Calls then wait until
		// the API servers have heard of it, though not for the whole overlap.
		return served{by: by, ok: v.published.of(v.config), from: v.published.At.Add(r.grace)}
	}
	return served{by: by, ok: before.ok, from: before.from} // it is held
}
