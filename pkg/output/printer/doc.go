// Package printer turns events into output: results on stdout in one of the formats
// table, json, yaml, kyaml, name, stream and junit; progress and warnings on stderr, the
// same for every format, except that programs get no headings.
//
//	p, err := printer.ForApply(output.Options{Out: os.Stdout, Err: os.Stderr})
//	engine.Run(ctx, p.Print)
//	err = p.Close(ctx)
//
// It asks no server and decides nothing. It does not mask Secrets either: the values in
// an event are safe to show. Text from a cluster may hold control characters, and those
// never reach a terminal raw.
//
// It chooses the writers and passes on every event; the writing is done by packages
// table, document and progress.
//
// # Order
//
// Results are written in the order of the plan, in whatever order they were finished: the
// table and the names when a phase is over, documents when the run is. Only the stream
// follows the work itself. The table of an apply leaves out unchanged objects if the plan
// has more than 20 (but not with [output.Options.Verbose]); the summary counts them and
// the documents list them. Conflicts come last, all of them, followed once by the flags
// that settle them.
package printer
