// Package deprecation knows what is deprecated in an object that is sent to an API
// server, and says it in one line: versions of Kubernetes' own kinds, versions of
// custom resources, and single fields.
//
// [Check] answers for a kind at a version, [Fields] for the fields that an object sets,
// [Definition.Notices] for the versions of a custom resource.
//
// Everything is relative to the release of the server: it does not report what the
// server has not deprecated yet, and advises nothing that it does not serve.
//
// The knowledge of Kubernetes' kinds is generated from its own types (builtin.txt, by
// internal/cmd/generate) and corrected in overlay.txt, row by row and with a source.
// [Custom] learns of custom resources from the watcher of their definitions. The rules
// for fields are a reviewed list; a test fails when a newer release documents a field
// on which the list has no opinion.
//
// It talks to no cluster, and never reveals a user's value.
package deprecation

//go:generate go run ./internal/cmd/generate -root ../..
