// Package listwatch reads lists and watches for the changes after them. [Pages] is the
// only way to read a list, for the client and for the webhook's tracker: whatever a
// server does, a list costs a handful of requests.
package listwatch
