// Package yield removes from a manifest what is to be left to its owners, so that the
// server keeps the live value.
package yield
