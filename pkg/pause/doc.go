// Package pause waits for a while, unless something ends that earlier.
package pause
