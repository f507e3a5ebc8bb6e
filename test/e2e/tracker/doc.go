// Package tracker tests the tracker with a real API server that stops, restarts, forgets its
// history, and changes its kinds meanwhile.
package tracker
