// Package deprecation knows what is deprecated in what somebody sends to an API
// server, and says it in one line: versions of Kubernetes' own kinds, versions of
// custom resources, and single fields.
//
// [Check] answers for a kind at a version, [Fields] for the fields that an object sets,
// [Definition.Notices] for the versions of a custom resource.
//
// Everything is relative to the release of the server: what it has not deprecated yet
// is not told, and nothing is advised that it does not serve.
//
// What is known of Kubernetes' kinds is generated from its own types (builtin.txt, by
// internal/cmd/generate) and corrected in overlay.txt, row by row and with a source.
// [Custom] is told of custom resources by whoever watches their definitions. The rules
// for fields are a reviewed list; a test fails when a newer release documents a
// field that the list has no opinion of.
//
// It talks to no cluster, and never tells a value of the user's.
package deprecation

//go:generate go run ./internal/cmd/generate -root ../..
