// Package limit reads --timeout-for: the times that kinds and conditions have for
// themselves, the same for every verb that waits.
//
// It knows no verb: what a time bounds, and what holds without one, is theirs to say.
package limit
