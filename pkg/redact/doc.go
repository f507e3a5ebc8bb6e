// Package redact keeps the values of Secrets out of everything that is shown:
// projections, single values, and texts such as a server's error message.
//
//	before, after := redact.Pair(ref, before, after)
//
// What quotes a Secret that is not at hand (a server, a policy, a library's log) goes
// through the [Vault] of the run, which knows them all.
//
// Whoever emits an event calls Pair first. Equal values stay equal and different
// ones different, so that a diff of masked objects is still a diff.
package redact
