// Package unready explains why an object is not ready. [Gather] reads the facts, and [Diagnose]
// returns causes. An [Explainer] repeats both while objects are stuck. Codes of causes are stable;
// docs/unready.md lists them. The package never reads the contents of Secrets.
package unready
