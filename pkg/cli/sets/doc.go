// Package sets has the shared parts of the verbs for sets: naming, the lock, growing the promise,
// pruning, and the history in the cluster. Call [Options.Begin], run the engine, then [Run.End].
// Package applyset decides which members may go.
package sets
