package lock

import "time"

// Terms are how long things last.
type Terms struct {
	// Duration is how long a Lease is good for that is not renewed: after that, others
	// may take it over.
	Duration time.Duration
	// Margin is how much of it has to be left for a write to begin.
	Margin time.Duration
	// Slack is the part of that which is not the server's: the request is in transit for
	// a moment, and clocks do not run at exactly the same speed.
	Slack time.Duration
	// Renew is the pause between two renewals, Again the pause after one that failed, and
	// Poll that between two reads of another run's Lease.
	Renew, Again, Poll time.Duration
	// Patience is how long a holder keeps trying to renew a Lease, without writing,
	// before it gives the lock up.
	Patience time.Duration
}

// Usual returns the terms for a cluster. A run that is killed is replaced after half a
// minute; one whose server is busy for a few seconds does not notice.
func Usual() Terms {
	return Terms{
		Duration: 30 * time.Second, Margin: 10 * time.Second, Slack: 2 * time.Second,
		Renew: 5 * time.Second, Again: time.Second, Poll: time.Second,
		Patience: time.Minute,
	}
}
