// Package builtin has the types of Kubernetes' own kinds, from the Go types that clients are
// compiled with: what a server publishes of them need not be read first.
package builtin
