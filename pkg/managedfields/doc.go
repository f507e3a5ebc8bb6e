// Package managedfields reads metadata.managedFields, the truth about who manages what.
// Its functions are pure: they return the owners of a path ([Owners]), the part of an
// object that a field set holds ([Project]), the differences between two such projections
// ([Compare]), and an object with the owners of each field ([Tree]).
//
// It needs no schema and talks to no server. Package predict builds on it to predict what
// an apply would do.
package managedfields
