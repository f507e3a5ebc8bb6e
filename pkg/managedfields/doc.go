// Package managedfields reads metadata.managedFields. [Owners] returns the owners of a path,
// [Project] the part of an object that is in a set, [Compare] the differences between two such
// parts, and [Tree] an object with the owners of each field. The package needs no schema and sends
// no requests.
package managedfields
