// Package progress reports the progress of a run to stderr. On a terminal, it keeps a live status
// line; in a log, it writes plain lines. It also reports what the run is waiting for, and warnings.
// Start with [New].
package progress
