// Package redact keeps the values of Secrets out of everything that is shown:
// projections, single values, and texts such as a server's error message.
//
//	before, after := redact.Pair(ref, before, after)
//
// Texts that may quote a Secret that is not at hand (from a server, a policy, a
// library's log) go through the [Vault] of the run, which knows all Secrets.
//
// The code that emits an event calls Pair first. Equal values stay equal and
// different ones different, so that a diff of masked objects is still a diff.
package redact
