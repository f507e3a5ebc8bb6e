// Package verb is the frame of every verb: flags become options, the options are executed, and the
// result becomes an exit status. Start with [Runner]. It also has shared flags and the reporting
// of errors. It knows no verb.
package verb
