// Package readiness says when an object is ready, kind by kind (docs/readiness.md).
//
// [For] returns the rule of a kind; [Rule.Evaluate] applies it to one version of an object.
// [Read] returns one [Statement] for each condition, phase, count or error in a status, and
// whether it is good news or bad: the one vocabulary of readiness and diagnosis. It reads no
// clock and asks no server, and an object that says nothing is not ready (edge case 48).
package readiness
