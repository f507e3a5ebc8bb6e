// Package output has what all output shares: the options, the screen with its colours, and the
// state of the run, which knows its progress, its results, and the place of each object in the
// plan. Use package printer to print a run.
package output
