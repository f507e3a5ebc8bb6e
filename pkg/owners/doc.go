// Package owners finds out who owns which field of an object, and who owned it
// before.
//
//	engine := owners.Engine{Reader: client, History: true}
//	err := engine.Run(ctx, refs, printer.Print)
//
// Who owns a field now is read off the object itself, its managed fields. Who
// owned it before is read off the OwnershipRecord that the webhook keeps, where it
// is installed: nothing in the object tells.
//
// It changes nothing, and lays nothing out: what it found is one [event.Owned] for
// each object.
package owners
