// Package event is what an engine reports while it works: a sealed set of small
// structs, one for each thing that can be reported. Engines emit them one after the
// other, printers consume them.
//
//	emit(event.Applied{Ref: ref, Action: event.Created})
//
// An event is final when it is emitted: values of Secrets are masked in it, and it
// does not change afterwards. It holds no client and does no work.
package event
