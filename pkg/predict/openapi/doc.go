// Package openapi reads off a kind's published schema what the API server goes by when it
// merges: what is declared at a path, and whether a map or a list is one field or many. The
// schema is data that is handed in.
package openapi
