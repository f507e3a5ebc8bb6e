// Package predict says what the server would make of a manifest before anything is
// written: no change, a change that concerns no other owner, or a contested change, and
// who contests it.
//
// [Predictor.Evaluate] answers from the live object alone. [Predictor.Ask] settles what
// that leaves doubtful by a forced dry run. The parts that need no server are packages of
// their own: settle, adopt and yield.
//
// apply and diff both use it, so that diff shows what apply does. It writes nothing, and
// does not decide the order of objects.
package predict
