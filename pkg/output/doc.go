// Package output holds what all output shares: the options, the screen with its colours,
// and the state of the run. The state says how far the run is, what became of it, and
// where in the plan an object is.
//
// To print a run, use package printer.
package output
