// Package past keeps the history of a set in the cluster: it records a run before the
// first write and its result at the end, and then removes runs beyond the limit.
//
// Package applyset/history defines a run and its format.
package past
