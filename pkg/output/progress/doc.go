// Package progress reports on stderr how far a run is: a live line at the bottom of a
// terminal, or plain lines in a log; what the run waits for; warnings.
package progress
