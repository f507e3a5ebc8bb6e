// Package choices is the flags that decide about ownership, the same for all verbs that
// predict an apply: who we are, which contested fields to take, which to leave.
package choices
