// Package document writes results for programs: a single JSON, YAML or KYAML document, a JUnit
// report, names, objects, or a stream of JSON lines. docs/output.md documents the fields, which are
// a contract. The package sends no requests.
package document
