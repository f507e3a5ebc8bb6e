// Package applyset knows which objects were applied together, and what becomes of those
// that left.
//
// It follows the ApplySet specification (KEP-3659), so that kubectl and others read the
// same sets: a parent object promises in which kinds and namespaces members may be, and
// each member carries the parent's id in a label. The label is the truth; the promise says
// where to look for it.
//
//	id := applyset.ID(parent)                     // what members are labelled with
//	record := applyset.Read(live)                 // what the parent promises
//	wider := record.Promise.Union(applyset.PromiseOf(refs))
//	body, err := applyset.Render(record, wider)   // written before the members are
//	decision := applyset.Decide(set, members)     // what goes, what stays, and why
//
// A promise only ever grows before members are written, and shrinks to what is left after
// a prune is complete: a run that is killed at any moment in between leaves no member
// that cannot be found. [Claims] returns the other claims on an object.
//
// The package reads and writes nothing; lists, deletions and questions are for its
// callers.
package applyset
