// Package fieldpath names fields as their owners do, list items by key and never by position. A
// [Path] is one field, a [Set] the paths of an owner; [Items] alone decides which item of a list
// an element means. It needs no schema and asks no server.
package fieldpath
