// Package locking gives a run the lock of its set: where the Lease is, the identity of
// the run, what is reported while it waits, and the Events that announce the run.
//
//	l := locking.New(c)                   // before any client is made: it guards all writes
//	held, err := l.Hold(ctx, client, ...) // ends when the lock is lost
//	defer l.Release(ctx)
//
// When a lock may be taken, and a write may leave, package lock says.
package locking
