// Package listing writes what other programs take as their input: the names of objects, one
// a line as kubectl -o name writes them, the objects themselves (YAML, KYAML, JSON, JSONPath,
// a Go template), and manifests. A run's other events go to stderr, as they would in a table.
package listing
