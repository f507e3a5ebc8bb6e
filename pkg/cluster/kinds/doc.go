// Package kinds is how an API server serves kinds: which there are and what they are called,
// what is cached of that, what was probably meant, what will come, what is gone for sure, and
// the schemas and annotations of their definitions.
//
// It is a room of package cluster, whose Client has all of it.
package kinds
