// Package deprecation knows which API versions and fields are deprecated for a server of a given
// release. [Check] answers for a kind, [Fields] for an object, [Definition.Notices] for a CRD. Its
// tables are generated from Kubernetes' types (builtin.txt) and corrected with sources
// (overlay.txt). It talks to no cluster and never quotes a user's value.
package deprecation

//go:generate go run ../../test/lifecycles -root ../..
