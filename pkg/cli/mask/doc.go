// Package mask keeps the values of Secrets out of what a run writes, where that does not
// come from an engine as an event: answers of the server, logs of libraries, and stdout and
// stderr as a whole. What it knows of values, it learns into a vault and asks of it
// (package redact).
package mask
