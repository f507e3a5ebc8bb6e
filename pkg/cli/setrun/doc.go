// Package setrun contains what the verbs for sets share: naming, the lock, the parent, pruning, and
// the history. A run calls [Options.Begin], runs its engine, and calls [Run.End]. Package applyset
// decides which members may be deleted.
package setrun
