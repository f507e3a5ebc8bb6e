// Package verb is the frame in which every verb runs: what was typed becomes options, the
// options are executed, and how that ended becomes an exit status.
//
//	RunE: verb.Runner(c, streams, flags.toOptions)
//
// It has what verbs share besides: the flags that most of them take, how results are shown,
// and how errors are told. It knows no verb.
package verb
