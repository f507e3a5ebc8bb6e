// Package event is what an engine says while it works: a sealed set of small
// structs, one for each thing that can be said. Engines emit them one after the
// other, printers consume them.
//
//	emit(event.Applied{Ref: ref, Action: event.Created})
//
// An event is finished when it is emitted: values of Secrets are masked in it,
// and nobody changes it afterwards. It holds no client and does no work.
package event
