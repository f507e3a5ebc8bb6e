// Package readiness says when an object is ready, kind by kind (docs/readiness.md).
//
// [For] returns the rule of a kind; [Rule.Evaluate] applies it to one version of an object.
// Nothing else counts: no clock is read, no server is asked, and an object that says
// nothing about itself is not ready (edge case 48). Waiting, and finding out why an object
// does not get ready, are the work of others.
package readiness
