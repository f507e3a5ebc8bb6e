// Package output contains the parts that all formats share: options, the screen and its colours,
// and the state of the run, which is its progress, its results, and each object's place in the
// plan. To print a run, use package printer.
package output
