// Package managedfields reads metadata.managedFields. [Owners] returns the owners of a path,
// [Project] the part of an object that a set holds, [Compare] the differences of two projections,
// [Tree] an object with the owners of each field. It needs no schema and sends no requests.
package managedfields
