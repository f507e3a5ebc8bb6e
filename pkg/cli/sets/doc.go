// Package sets is what verbs share that are about a set: how it is named, found and read
// from the cluster, and how a run grows its promise, prunes what left, and shrinks it.
//
//	run, err := options.Begin(ctx, env, p)  // lists, decides, asks, and writes the parent
//	err = run.End(ctx, engine.Run(ctx, p))  // prunes, or says why it does not
//
// What a set is and who of it may go, package applyset says; this one asks the cluster.
package sets
