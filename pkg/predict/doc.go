// Package predict tells what the server would make of a manifest, before
// anything is written: nothing, something nobody minds, or something contested,
// and by whom.
//
//	p := predictor.Evaluate(item, live) // from the live object alone
//	if p.Verdict == settle.Doubtful {
//		err = predictor.Ask(ctx, server, &p) // a forced dry run
//	}
//
// apply and diff both stand on it, so that what diff shows is what apply does.
// It writes nothing, and it decides nothing about order.
package predict
