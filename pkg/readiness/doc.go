// Package readiness says when an object is ready, kind by kind (docs/readiness.md).
//
//	rule := readiness.For(gvk, nil)
//	verdict := rule.Evaluate(object, time.Now())
//	verdict.Ready  // false
//	verdict.Reason // StaleStatus
//
// It is judged by the object alone, one version of it at a time: no clock is read, no
// server is asked, and an object that says nothing of itself is not ready (edge case 48).
// Waiting, and finding out why an object does not get ready, are the work of others.
package readiness
