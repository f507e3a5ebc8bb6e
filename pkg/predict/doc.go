// Package predict predicts the result of applying a manifest. Call [Predictor.Evaluate], which
// needs only the live object, and then [Predictor.Ask], which sends dry runs. The subpackages noop,
// adopt and yield need no server. The package writes nothing and does not order objects.
package predict
