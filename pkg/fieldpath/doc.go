// Package fieldpath names the fields of an object as their owners do, list items by key and
// never by position, and reads, compares and removes them.
//
// A [Path] names one field; a [Set] is the paths that an owner holds, as
// structured-merge-diff keeps them. [Items] alone decides which item of a list an element
// of a path means, also where the server's defaults supply part of its key.
//
// Everything is a pure function of values. No schema is needed: a set itself distinguishes
// a keyed list from a set and from an atomic value ([ShapeOf]).
package fieldpath
