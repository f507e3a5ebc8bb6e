// Package verb is the frame in which every verb runs: flags become options, the options
// are executed, and the result becomes an exit status.
//
//	RunE: verb.Runner(c, streams, flags.toOptions)
//
// It also holds what verbs share: the flags that most of them take, how results are
// shown, and how errors are reported. It knows no verb.
package verb
