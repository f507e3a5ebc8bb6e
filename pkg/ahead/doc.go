// Package ahead reads the live objects of a whole plan from the moment a run begins, one
// read a kind side by side, so that later phases need not wait for reads of their own.
package ahead
