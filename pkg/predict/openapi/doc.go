// Package openapi reads from a kind's published schema what the API server follows when it
// merges: what is declared at a path, and whether a map or a list is one field or many.
// The caller provides the schema.
package openapi
