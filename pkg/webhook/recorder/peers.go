package recorder

import "time"

// sightLasts is how long a write of another replica indicates its progress.
const sightLasts = 10 * time.Second

// maxLag is the greatest age of a change that another replica is assumed to be writing,
// if this one does not know how long the change has waited. Its time is then from another
// machine's clock, which may be wrong by hours, and a replica that writes all the time
// would hold back the leader for as long.
const maxLag = 2 * time.Minute

// maxSights is how many namespaces in which others write are remembered.
const maxSights = 1024

// peers is what the other replicas are seen to write. A replica that has hints for many
// changes writes them, with their users, in the order in which they came. In the meantime
// the leader leaves to it everything later than its progress: otherwise both would write
// the same objects, and the leader without the user.
//
// It is a guess that saves writes, and nothing depends on it.
type peers map[string]sight

// sight is the latest write of another replica that was seen in a namespace.
type sight struct {
	at time.Time
	// lag is how old the change was that it wrote.
	lag time.Duration
}

// saw records a write of another replica, of a change that waited for lag.
func (p peers) saw(namespace string, lag time.Duration, now time.Time) {
	if len(p) >= maxSights {
		for other, s := range p {
			if now.Sub(s.at) >= sightLasts {
				delete(p, other)
			}
		}
	}
	if len(p) < maxSights {
		p[namespace] = sight{now, max(0, lag)}
	}
}

// until returns until when another replica may be about to write a change of a
// given time, with its user.
func (p peers) until(namespace string, came, now time.Time) time.Time {
	s, ok := p[namespace]
	if !ok || now.Sub(s.at) >= sightLasts {
		return now
	}
	passed := came.Add(grace + s.lag)
	if end := s.at.Add(sightLasts); end.Before(passed) {
		return end
	}
	return passed
}
