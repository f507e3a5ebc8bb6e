// Package redact keeps the values of Secrets out of everything that is shown:
// projections, single values, and texts such as a server's error message.
//
//	before, after := redact.Pair(ref, before, after)
//
// Whoever emits an event calls it first. Equal values stay equal and different
// ones different, so that a diff of masked objects is still a diff.
package redact
