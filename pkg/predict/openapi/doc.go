// Package openapi reads from the types of a kind what the API server follows when it merges:
// what is declared at a path, and whether a map or a list is one field or many. The caller
// provides the types: the schema that the server publishes, or what says the same.
package openapi
