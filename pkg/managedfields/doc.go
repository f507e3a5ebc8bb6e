// Package managedfields reads metadata.managedFields, the truth about who
// manages what, and answers with pure functions: who owns a path, what of an
// object one field set holds, how two such projections differ, which paths a
// manifest would contest, and whether applying it would change anything.
//
//	entries, err := managedfields.Entries(live)
//	owned := managedfields.Managed(entries, "k8sconnect")
//	view := managedfields.Project(live.Object, owned)
//
// It needs no schema: a field set itself tells a keyed list from a set and from
// an atomic value, and where that is not enough the answer is [Doubtful], which
// means "ask the server". It never talks to one.
package managedfields
