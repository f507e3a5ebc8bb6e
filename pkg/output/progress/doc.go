// Package progress reports to stderr: a live status line on a terminal, or plain lines in a log;
// what the run is waiting for; and warnings. Start with [New].
package progress
