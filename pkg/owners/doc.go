// Package owners finds out which manager owns which field of an object, and which ones
// owned it before.
//
//	engine := owners.Engine{Reader: client, History: true}
//	err := engine.Run(ctx, refs, printer.Print)
//
// The managed fields of the object say who owns a field now. Nothing in the object says
// who owned it before: this is in the OwnershipRecord that the webhook keeps, if it is
// installed.
//
// It changes nothing and formats nothing: it emits one [event.Owned] for each object.
package owners
