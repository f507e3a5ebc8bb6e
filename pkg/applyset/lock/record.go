package lock

import "time"

// Record is the content of a Lease.
type Record struct {
	// Holder is the process that holds the lock; empty if it is free. No two processes
	// ever have the same.
	Holder string
	// Run is the id of its run.
	Run string
	// Acquired and Renewed are by the holder's clock. They are for people to read:
	// nothing is decided by them.
	Acquired, Renewed time.Time
	// Duration is how long the Lease is good for that is not renewed.
	Duration time.Duration
	// Transitions counts how often the lock changed hands.
	Transitions int
	// Version is the resource version.
	Version string
}

// Identity is one process that wants the lock.
type Identity struct {
	// Holder names it for people, and differs from that of every other process.
	Holder string
	// Run is the id of its run, which others may share.
	Run string
}
