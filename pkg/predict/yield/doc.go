// Package yield takes out of a manifest what is to be left to its owners, so that the server
// keeps the value that is live.
package yield
