// Package deprecation finds API versions and fields that are deprecated in a release of Kubernetes.
// It sends no requests, and never quotes a user's value. [Check] is for a kind, [Fields] for an
// object, [Definition.Notices] for a CRD. The package's tables are generated from Kubernetes' types
// (builtin.txt). Corrections are in overlay.txt, each with its source.
package deprecation

//go:generate go run ../../test/lifecycles -root ../..
