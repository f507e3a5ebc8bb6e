package certificates

import (
	"crypto/x509"
	"fmt"
	"time"
)

// step is one change of the state: one write of the Secret.
type step string

const (
	none        step = ""
	restore     step = "restore the authority that was served so far"
	adopt       step = "keep the authorities that the webhook configuration trusts"
	createCA    step = "make an authority"
	renew       step = "renew the serving certificate"
	createNext  step = "make the next authority"
	dropNext    step = "drop the next authority, which cannot be used"
	renewNext   step = "renew the next serving certificate"
	publish     step = "the webhook configuration knows the next authority"
	promote     step = "serve by the next authority"
	dropRetired step = "forget an authority of which no certificate is valid"
)

// view is everything that a replica bases its decision on.
type view struct {
	state
	// memory is the last state with a current authority that this replica saw.
	memory state
	// config is the webhook configuration.
	config configuration
}

// due is a step and the time from which it should be taken.
type due struct {
	step step
	at   time.Time
}

// next returns the step to take now. If there is none, it returns when to look again;
// the zero time means never.
func (r rules) next(v view, now time.Time) (step, time.Time) {
	var wake time.Time
	for _, d := range r.dues(v, now) {
		if !now.Before(d.at) {
			return d.step, now
		}
		if wake.IsZero() || d.at.Before(wake) {
			wake = d.at
		}
	}
	return none, wake
}

// dues returns the steps that the view calls for, the most urgent first. The zero
// time means at once.
func (r rules) dues(v view, now time.Time) []due {
	var all []due
	if v.current == nil {
		all = append(all, r.withoutCurrent(v, now)...)
	} else {
		all = append(all, r.ofCurrent(v)...)
	}
	if v.next != nil {
		all = append(all, r.ofNext(v)...)
	}
	for _, a := range v.retired {
		all = append(all, due{dropRetired, a.until.Add(r.overlap)})
	}
	return all
}

func (r rules) withoutCurrent(v view, now time.Time) []due {
	switch {
	case v.memory.current != nil && now.Before(v.memory.current.cert.NotAfter):
		return []due{{step: restore}}
	case len(r.unknown(v, now)) > 0:
		// A replica may serve with them: the Secret was lost, or another kind of
		// certificates was used before.
		return []due{{step: adopt}}
	case v.next == nil:
		return []due{{step: createCA}}
	}
	return nil
}

func (r rules) ofCurrent(v view) []due {
	var all []due
	a := v.current
	switch {
	case a.key == nil:
	case a.serving == nil || !r.fits(a.serving.Leaf):
		all = append(all, due{step: renew})
	case a.serving.Leaf.NotAfter.Before(a.cert.NotAfter): // else it could not live longer
		all = append(all, due{renew, renewal(a.serving.Leaf)})
	}
	switch {
	case v.next != nil:
	case a.key == nil:
		all = append(all, due{step: createNext})
	default:
		all = append(all, due{createNext, renewal(a.cert)})
	}
	return all
}

func (r rules) ofNext(v view) []due {
	a := v.next
	if a.key == nil {
		return []due{{step: dropNext}}
	}
	all := []due{{dropNext, renewal(a.cert)}}
	switch {
	case a.serving == nil || !r.fits(a.serving.Leaf):
		return append(all, due{step: renewNext})
	case a.serving.Leaf.NotAfter.Before(a.cert.NotAfter):
		all = append(all, due{renewNext, renewal(a.serving.Leaf)})
	}
	if !v.config.trusts(a.cert) {
		return all
	}
	if !v.published.of(v.config) {
		return append(all, due{step: publish})
	}
	at := v.published.At.Add(r.overlap)
	if v.current != nil {
		// The current one's certificates are about to expire: no time for more.
		at = earlier(at, later(v.current.until.Add(-r.overlap), v.published.At.Add(r.grace)))
	}
	return append(all, due{promote, at})
}

// unknown returns the authorities that the API servers trust and the state does not
// know.
func (r rules) unknown(v view, now time.Time) []*x509.Certificate {
	var all []*x509.Certificate
	for _, cert := range v.config.trusted(now) {
		if !v.knows(cert) {
			all = append(all, cert)
		}
	}
	return all
}

// after returns the state after a step.
func (r rules) after(what step, v view, now time.Time) (state, error) {
	s := v.state
	var err error
	switch what {
	case restore:
		s = r.adopting(view{state: s.remembering(v.memory), config: v.config}, now)
	case adopt:
		s = r.adopting(v, now)
	case createCA:
		var a *authority
		if a, err = r.newAuthority(now); len(s.retired) > 0 {
			s.next, s.published = a, publication{}
		} else {
			s.current = a // no replica serves by another
		}
	case createNext:
		s.published = publication{}
		s.next, err = r.newAuthority(now)
	case renew:
		s.current, err = r.sign(s.current, now)
	case renewNext:
		s.next, err = r.sign(s.next, now)
	case dropNext:
		s.next, s.published = nil, publication{}
	case publish:
		s.published = publication{UID: v.config.uid, Generation: v.config.generation, At: now}
	case promote:
		s = s.promoted()
	case dropRetired:
		s.retired = r.remaining(s.retired, now)
	default:
		err = fmt.Errorf("no such step: %q", what)
	}
	return s, err
}

// adopting returns the state with the authorities of the webhook configuration,
// for as long as a certificate lives.
func (r rules) adopting(v view, now time.Time) state {
	s := v.state
	s.retired = append([]*authority(nil), s.retired...)
	for _, cert := range r.unknown(v, now) {
		s.retired = append(s.retired, &authority{cert: cert, until: earlier(cert.NotAfter, now.Add(r.serving))})
	}
	return s
}

func (r rules) remaining(retired []*authority, now time.Time) []*authority {
	var all []*authority
	for _, a := range retired {
		if now.Before(a.until.Add(r.overlap)) {
			all = append(all, a)
		}
	}
	return all
}
