// Package limit parses --timeout-for: separate times for kinds and conditions, the same
// for every verb that waits.
//
// It knows no verb: each verb decides what a time bounds, and what applies without one.
package limit
