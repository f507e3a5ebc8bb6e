// Package past keeps the history of a set in the cluster: a run is written down before its
// first write, its result when it ends, and what is older than wanted goes then.
//
// What a run is and how it is kept, package applyset/history says.
package past
