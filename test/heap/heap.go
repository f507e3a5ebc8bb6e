// Package heap measures what a test keeps alive.
package heap

import "runtime"

// Reachable is how many bytes of the heap are in use.
func Reachable() int {
	runtime.GC()
	runtime.GC() // Objects that the first one found to be finalised are freed by the second.
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
