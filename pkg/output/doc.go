// Package output is what all that is printed has in common: the options, the screen with
// its colours, and the state of the run. From the state everybody reads how far the run
// is, what came of it, and where in the plan an object stands.
//
// To print a run, take package printer.
package output
