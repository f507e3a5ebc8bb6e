// Package document writes results for programs: one JSON, YAML or KYAML document, a JUnit report,
// names, objects, or a stream of JSON lines. The fields are a contract, documented in
// docs/output.md. It sends no requests.
package document
