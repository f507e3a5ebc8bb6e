// Package managedfields reads metadata.managedFields. [Owners] returns the owners of a path,
// [Project] the part of an object in a set, [Compare] the differences between two such parts,
// [Tree] an object with the owners of each field. It needs no schema and sends no requests.
package managedfields
