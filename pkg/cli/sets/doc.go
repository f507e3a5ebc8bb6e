// Package sets holds what the verbs for sets share: how a set is named, found and read
// from the cluster, and how a run grows its promise, prunes what left, and shrinks it.
//
//	run, err := options.Begin(ctx, env, p)  // lists, decides, asks, and writes the parent
//	err = run.End(ctx, engine.Run(ctx, p))  // prunes, or says why it does not
//
// Package applyset defines what a set is and which members may go; this package asks the
// cluster.
package sets
