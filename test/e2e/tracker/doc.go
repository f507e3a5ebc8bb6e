// Package tracker holds the tracker against a real API server: that stops, starts
// anew, forgets its history, and changes its kinds meanwhile.
package tracker
