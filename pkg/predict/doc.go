// Package predict predicts the result of applying a manifest. Call [Predictor.Evaluate], which
// needs only the live object, then [Predictor.Ask], which resolves doubts with a forced dry run.
// The subpackages noop, adopt and yield need no server. The package writes nothing, and does not
// order objects.
package predict
