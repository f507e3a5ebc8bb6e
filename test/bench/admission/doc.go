// Command admission measures what the webhook costs writers: writes a second and the time
// of a write, with no webhook, with one that does nothing (the limit), and with ours, in
// one interleaved run on one machine:
//
//	admission -webhook bin/webhook -helm bin/helm
//
// The webhook is configured as the chart configures it, and runs as the program that the
// chart runs. It also measures the memory of the tracker over many generated objects. The
// tables go to stdout as Markdown. Wrong results (a refused write, a call where there
// must be none, a takeover that was not reported) make it exit with 1; slow ones never
// do.
package main
