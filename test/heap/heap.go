// Package heap measures the memory that a test keeps reachable.
package heap

import "runtime"

// Reachable returns the bytes of the heap in use.
func Reachable() int {
	runtime.GC()
	runtime.GC() // frees the objects that were finalised in the first run
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
