// Package unready explains why an object is not ready. It never reads the contents of Secrets.
// Start with [Gather] and [Diagnose]; an [Explainer] repeats both while objects are stuck.
// docs/unready.md lists the stable codes.
package unready
