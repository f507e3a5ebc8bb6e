// Package kinds knows how an API server serves kinds: their names, what is cached of
// them, what was probably meant by a name, which kinds will come, which are certainly
// gone, and the schemas and annotations of their definitions.
//
// It is a part of package cluster, whose Client embeds it.
package kinds
