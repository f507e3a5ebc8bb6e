// Package progress reports progress on stderr: a live status line on a terminal, or plain lines in
// a log; what the run waits for; and warnings. Start with [New].
package progress
