// Package unready explains why an object is not ready. [Gather] reads the facts, and [Diagnose]
// returns causes with evidence, the next command, its risk and the object that has to change. An
// [Explainer] repeats both while objects are stuck. Codes of causes are stable; docs/unready.md lists
// them. It does not decide readiness, does not wait, and never reads the contents of Secrets.
package unready
