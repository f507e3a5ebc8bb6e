// Package k9s presses the keys of docs/examples/k9s in the real k9s.
package k9s
