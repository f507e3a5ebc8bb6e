// Package sets has the parts that the verbs for sets share: naming, the lock, writing the parent,
// pruning, and the history in the cluster. A run calls [Options.Begin], runs its engine, and calls
// [Run.End]. Package applyset decides which members may be deleted.
package sets
