// Package sets has the parts that the verbs for sets share: naming, the lock, writing the parent,
// pruning, and the history in the cluster. Call [Options.Begin], run the engine, then [Run.End].
// Package applyset decides which members may be deleted.
package sets
