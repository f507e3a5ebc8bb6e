// Package choices holds the flags that decide about ownership, the same for all verbs
// that predict an apply: our field manager, which contested fields to take, and which to
// leave.
package choices
