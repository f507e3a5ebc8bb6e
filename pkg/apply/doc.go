// Package apply carries out a plan: phase by phase, reading what is there,
// predicting, and writing by server-side apply only what would change.
//
//	engine := apply.Engine{Server: client, Predictor: predictor, Emit: emit}
//	err := engine.Run(ctx, p)
//
// A phase with a conflict writes nothing, and neither do those after it, which are looked
// at all the same: one run reports every conflict. Events report what becomes of each
// object; the error says only whether everything went well. It does not read manifests,
// order objects or print.
package apply
