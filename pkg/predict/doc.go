// Package predict predicts what the server would make of a manifest. Call [Predictor.Evaluate],
// which needs only the live object, then [Predictor.Ask], which resolves doubts with a forced dry
// run. The packages noop, adopt and yield need no server. It never writes and does not order
// objects.
package predict
