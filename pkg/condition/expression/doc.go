// Package expression compiles and evaluates CEL over self, an object of one kind: typed by the
// kind's schema, bounded in cost and time, and with the reasons for its result.
package expression
