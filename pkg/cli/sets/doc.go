// Package sets holds the parts that the verbs for sets share: a set is named, found, locked, and
// read from the cluster; a run grows its promise, prunes and shrinks it, and keeps its history.
//
//	run, err := options.Begin(ctx, env, p)  // lists, decides, asks, and writes the parent
//	err = run.End(ctx, engine.Run(ctx, p))  // prunes, or says why it does not
//
// Package applyset decides which members may go; applyset/history is the format of the history.
package sets
