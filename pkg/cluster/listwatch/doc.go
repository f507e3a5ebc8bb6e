// Package listwatch reads lists and follows what happens after them. Its [Pages] are
// the only way to read a list, for the client and for the webhook's tracker: whatever
// a server does, a list costs a handful of requests.
package listwatch
