// Package output contains what all formats share: the options, the screen and its colours, and the
// state of the run, which comprises its progress, its results, and each object's place in the plan.
// To print a run, use package printer.
package output
