// Package document writes results for programs: one JSON, YAML or KYAML document, a JUnit report,
// names, objects, or a stream of JSON lines. docs/output.md documents the fields, which are a
// contract. It sends no requests.
package document
