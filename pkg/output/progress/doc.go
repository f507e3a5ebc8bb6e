// Package progress reports the progress of a run to stderr. On a terminal, it keeps a live status
// line; in a log, it writes plain lines. It also reports warnings and what the run is waiting for.
// Start with [New].
package progress
