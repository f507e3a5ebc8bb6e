// Command bench measures the plugin side by side with kubectl and with the raw
// limit, in one interleaved run on one machine, so that the ratios mean
// something where the seconds do not:
//
//	bench -count 1000 -kind ConfigMap -rtt 100ms -work again
//
// It starts a control plane without controllers, puts a network with added
// round-trip time in front of it, gives each tool a user of its own, so that
// the audit log counts its requests, and checks after every run that what the
// tool did is right. A wrong result makes it exit with 1; a slow one never
// does. The table goes to stdout as Markdown.
//
// It measures no cluster of yours, and nothing that leaves loopback.
package main
