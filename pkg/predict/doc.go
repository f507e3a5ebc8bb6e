// Package predict says what the server would make of a manifest before anything is written.
// [Predictor.Evaluate] answers from the live object alone, [Predictor.Ask] settles doubts by a
// forced dry run; noop, adopt and yield need no server. It writes nothing and does not order
// objects.
package predict
