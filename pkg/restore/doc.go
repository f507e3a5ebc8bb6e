// Package restore takes back what a run has written: each object gets the values and the
// owners back that it had, what the run created goes, and what others have changed since
// stays theirs.
//
// [Decide] says from three versions of an object (before the run's first write, after its
// last, and now) what to send. It is pure. [Engine] sends it, in reverse order, and reports
// what each object is then.
//
// The way back is an apply without force of what the manager stated before, bound to the
// version that was read, and a patch of the managed fields that gives every entry back what
// the run took from it. It can change nothing that the run did not.
package restore
