// Package lock lets one run at a time change a set: the run holds a Lease, renews it
// while it works, and may write only as long as no other run can have taken the Lease
// over.
//
//	l := lock.New(lock.Identity{Run: run, Holder: "alice@build-7"}, lock.Usual(), store)
//	held, err := l.Acquire(ctx, time.Minute, tell)
//	defer l.Release(ctx)
//	// every write asks l.Begin; held ends if the lock is lost
//
// [Machine] decides what to do when. It has no clock and no cluster, so a test can play
// pauses, skewed clocks and lost answers to it. [Lock] is the edge around it. Nothing
// here compares the clock of one machine with that of another.
package lock
