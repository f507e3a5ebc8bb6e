// Package progress reports the progress of a run on stderr: a live line at the bottom of a
// terminal, or plain lines in a log; what the run waits for; warnings.
package progress
