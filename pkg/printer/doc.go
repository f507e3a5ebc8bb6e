// Package printer turns events into output: results on stdout in one of the
// formats table, json, yaml, name, stream and junit; progress and warnings on
// stderr, the same for every format, but that machines get no headings.
//
//	p, err := printer.ForApply(printer.Options{Out: os.Stdout, Err: os.Stderr})
//	engine.Run(ctx, p.Print)
//	err = p.Close(ctx)
//
// It asks no server and decides nothing. It masks no Secret either: the values
// in an event are fit to be shown. What comes from a cluster may hold control
// characters, and those never reach a terminal raw.
//
// # Order
//
// Results are written in the order of the plan, whatever order they were
// finished in: the table and the names when a phase is over, documents when the
// run is. Only the stream follows the work itself. The table of an apply leaves
// out unchanged objects where the plan has more than 20 (but not with
// [Options.Verbose]); the summary counts them and the documents list them.
// Conflicts come last, all of them, followed once by the ways out.
//
// # Stream
//
// With -o stream every line of stdout is one JSON object. Fields may be added
// and types too: a reader skips what it does not know. Every line has
//
//	time  when it was written, RFC 3339, UTC, in milliseconds
//	type  what it says, one of those below
//
// and, by type,
//
//	planned       run, dryRun, phases [{name, total}]: the first line, once
//	phaseStarted  phase {index, name, total}; index counts from 0
//	started       object {apiVersion, kind, namespace, name}
//	applied       object: as in the objects of an ApplyResult, without warnings
//	compared      object: as in the objects of a DiffResult
//	deleted       object: as in the objects of a DeleteResult, without warnings
//	going         object, text: it is terminating, and this has moved; done and total
//	              where it is known how much it holds
//	stuck         object, with its causes: why nothing moves; again when that changes
//	root          root: as in the roots of a StuckResult
//	awaited       object: it is waited for, too
//	judged        object, with its conditions: how far it is; again when that changes
//	waited        object: as in the objects of a WaitResult, without warnings
//	warned        object, text; no object where the run as a whole is meant
//	retrying      object, error {reason, message, hint}, inSeconds, leftSeconds;
//	              no object where the server as a whole does not answer
//	waiting       object, for, withinSeconds where it is waited for no longer
//	finished      summary {action: count}: the last line, once
//
// applied, compared, deleted and finished are the results; a started object gets
// exactly one of the first three. leftSeconds is the time left to keep trying.
package printer
