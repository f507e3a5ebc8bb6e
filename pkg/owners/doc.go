// Package owners finds out who owns which field of an object, and who owned it
// before.
//
//	engine := owners.Engine{Reader: client, History: true}
//	err := engine.Run(ctx, refs, printer.Print)
//
// The managed fields of the object say who owns a field now. Who owned it before stands in
// the OwnershipRecord that the webhook keeps, where it is installed: nothing in the object
// says so.
//
// It changes nothing, and lays nothing out: what it found is one [event.Owned] for
// each object.
package owners
