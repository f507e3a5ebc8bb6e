// Package status reads what an object says of itself, and tells good news from bad.
//
// [Read] returns one [Statement] for each thing in an object that is understood, be it a
// condition, a phase, a boolean, a count or an error: what it says, and what that means. It
// understands names by how they are built (docs/design/readiness.md), so that a kind that
// was never seen before can be read too.
//
// Whether an object is ready as a whole, and why not, is for others to conclude. They
// share this one vocabulary, so that they cannot contradict each other.
package status
