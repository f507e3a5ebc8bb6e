// Package manifest reads files, folders, URLs, standard input and kustomizations into objects,
// each with file and line. Start with [Read]. Values are those of kubectl (YAML 1.1). Every fault
// of every document is reported, and any fault fails the whole unless the caller skips invalid
// objects. It knows no kinds, scopes or schemas.
package manifest
