// Package admission answers the reviews of an API server: which owners lose fields by a
// write, and what in it is deprecated. It always allows.
//
//	handlers, err := admission.New(admission.Options{Log: log, Registry: registry})
//	handlers[admission.OwnershipPath].ServeHTTP(w, r)
//
// Nothing in it says "no": a review that can be read is allowed, even if evaluating it
// panics. The package has no client, keeps no history and reads no more of an object than
// it has to: what it saw of a write is a hint for the packages that keep one.
package admission
