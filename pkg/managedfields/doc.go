// Package managedfields reads metadata.managedFields, the truth about who manages what, and
// answers with pure functions: who owns a path ([Owners]), what of an object one field set
// holds ([Project]), how two such projections differ ([Compare]), and an object with the
// owner of each field ([Tree]).
//
// It needs no schema and talks to no server. What an apply would do is predicted by package
// predict, which stands on this one.
package managedfields
