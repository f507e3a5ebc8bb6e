// Package printer turns events into output: results on stdout in one of the
// formats table, json, yaml, kyaml, name, stream and junit; progress and warnings on
// stderr, the same for every format, but that machines get no headings.
//
//	p, err := printer.ForApply(output.Options{Out: os.Stdout, Err: os.Stderr})
//	engine.Run(ctx, p.Print)
//	err = p.Close(ctx)
//
// It asks no server and decides nothing. It masks no Secret either: the values
// in an event are fit to be shown. What comes from a cluster may hold control
// characters, and those never reach a terminal raw.
//
// It chooses who writes and hands on every event; the writing is the business of
// packages table, document and progress.
//
// # Order
//
// Results are written in the order of the plan, whatever order they were
// finished in: the table and the names when a phase is over, documents when the
// run is. Only the stream follows the work itself. The table of an apply leaves
// out unchanged objects where the plan has more than 20 (but not with
// [output.Options.Verbose]); the summary counts them and the documents list them.
// Conflicts come last, all of them, followed once by the ways out.
package printer
