// Package plan puts objects in order: what must exist before what. Objects of
// one phase may be applied side by side; a phase begins when the one before it
// is done.
//
//	p, err := plan.Build(manifests, plan.Options{Kinds: kinds, Namespace: "prod"})
//
// It is pure: what the cluster knows of the kinds comes in as [object.Kind], and
// nothing is read or sent. It does not decide what happens to an object.
package plan
