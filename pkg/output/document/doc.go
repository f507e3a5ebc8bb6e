// Package document writes results for programs: one document in JSON, YAML or KYAML, a
// JUnit report, or a stream of lines. The fields are a contract: docs/output.md.
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
//	runs          object, images: as in the objects of a WaitResult
//	warned        object, text; no object where the run as a whole is meant
//	remarked      object, remark {code, path, message, hint}: what will not work; no object
//	              where the run as a whole is meant
//	decided       object, decided: as in the objects of an ApplyResult
//	retrying      object, error {reason, message, hint}, inSeconds, leftSeconds;
//	              no object where the server as a whole does not answer, or not
//	              what it serves
//	waiting       object, for, withinSeconds where it is waited for no longer
//	finished      summary {action: count}: the last line, once
//
// applied, compared, deleted and finished are the results; a started object gets
// exactly one of the first three. leftSeconds is the time left to keep trying.
package document
