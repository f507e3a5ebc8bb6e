// Package managedfields reads metadata.managedFields, the truth about who manages what, and
// answers with pure functions: the owners of a path ([Owners]), the part of an object that
// a field set holds ([Project]), the differences between two such projections ([Compare]),
// and an object with the owner of each field ([Tree]).
//
// It needs no schema and talks to no server. Package predict, which builds on this one,
// predicts what an apply would do.
package managedfields
