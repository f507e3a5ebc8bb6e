package certificates

import (
	"crypto/x509"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// state is the contents of the Secret.
type state struct {
	// current signs the served certificate.
	current *authority
	// next will, when all API servers know it. It has a certificate ready.
	next *authority
	// retired sign nothing more; certificates that they signed may still be served.
	retired []*authority
	// published says since when the webhook configuration knows next.
	published publication
}

// publication is one version of the webhook configuration, and when it was seen.
type publication struct {
	UID        types.UID `json:"uid,omitempty"`
	Generation int64     `json:"generation,omitempty"`
	At         time.Time `json:"at,omitzero"`
}

// of reports whether this version of the configuration was published.
func (p publication) of(c configuration) bool {
	return !p.At.IsZero() && p.UID == c.uid && p.Generation == c.generation
}

// authorities returns all that the API servers should trust, in order of arrival:
// existing ones keep their place.
func (s state) authorities() []*authority {
	all := slices.Clone(s.retired)
	for _, a := range []*authority{s.current, s.next} {
		if a != nil {
			all = append(all, a)
		}
	}
	return all
}

// bundle is the caBundle that the state calls for.
func (s state) bundle() []byte {
	var out []byte
	for _, a := range s.authorities() {
		out = append(out, encodeCertificate(a.cert)...)
	}
	return out
}

func (s state) knows(cert *x509.Certificate) bool {
	return slices.ContainsFunc(s.authorities(), func(a *authority) bool { return a.cert.Equal(cert) })
}

// remembering returns the state completed from an earlier one: its current authority,
// if this one has none, and all that is still trusted.
func (s state) remembering(earlier state) state {
	s.current = earlier.current
	s.retired = slices.DeleteFunc(slices.Clone(s.retired), func(a *authority) bool {
		return a.cert.Equal(s.current.cert)
	})
	if s.next == nil && earlier.next != nil {
		s.next, s.published = earlier.next, publication{}
	}
	for _, a := range earlier.retired {
		if !s.knows(a.cert) {
			s.retired = append(s.retired, a)
		}
	}
	return s
}

// promoted returns the state in which next is current. The old key is dropped: a key that
// does not exist cannot be stolen.
func (s state) promoted() state {
	out := state{current: s.next, retired: slices.Clone(s.retired)}
	if s.current != nil {
		out.retired = append(out.retired, &authority{cert: s.current.cert, until: s.current.until})
	}
	return out
}

// choose returns the authority whose certificate a replica serves that has served the
// held one's so far.
func (s state) choose(held *authority, now time.Time) *authority {
	switch {
	case s.current.usable(now):
		return s.current
	case held.usable(now) && s.knows(held.cert):
		return held // until the next one may be served
	case s.next.usable(now):
		return s.next // there is nothing better
	}
	return held
}
