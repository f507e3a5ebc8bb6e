// Package owned writes objects with the owners of their fields: for people with the owners
// before each field, and as YAML with the owners as comments.
package owned
