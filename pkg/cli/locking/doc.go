// Package locking gives a run the lock of its set: where the Lease is, who the run is, what
// is said while it waits, and the Events that tell of it.
//
//	l := locking.New(c)                   // before any client is made: it guards all writes
//	held, err := l.Hold(ctx, client, ...) // ends when the lock is lost
//	defer l.Release(ctx)
//
// When a lock may be taken, and a write may leave, package lock says.
package locking
