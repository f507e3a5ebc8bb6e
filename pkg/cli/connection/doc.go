// Package connection keeps the values of Secrets out of everything that a run writes and that
// is not an engine's event: answers of the server, logs of libraries, and stdout and
// stderr as a whole. It stores the values that it learns in a vault (package redact),
// which does the masking.
package connection
