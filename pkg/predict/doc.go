// Package predict says what the server would make of a manifest, before anything is
// written: nothing, something that concerns no other owner, or something contested, and by
// whom.
//
// [Predictor.Evaluate] answers from the live object alone. [Predictor.Ask] settles what
// that leaves doubtful by a forced dry run. The parts that need no server are packages of
// their own: settle, adopt and yield.
//
// apply and diff both stand on it, so that what diff shows is what apply does. It writes
// nothing, and it decides nothing about order.
package predict
