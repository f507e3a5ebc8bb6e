// Package cel compiles and evaluates CEL over self, an object of one kind: typed by the kind's
// schema, bounded in cost and time, and explained by the values that it read. It also knows the
// place of a field that a condition names.
package cel
