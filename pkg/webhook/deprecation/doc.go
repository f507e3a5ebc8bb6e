// Package deprecation knows what is deprecated in what somebody sends to an API
// server, and says it in one line: versions of Kubernetes' own kinds, versions of
// custom resources, and single fields.
//
//	if n, ok := deprecation.Check(gvk, server); ok {
//		fmt.Fprintln(w, n) // resource.k8s.io/v1beta1 is deprecated since 1.35, to be removed in 1.38; use v1
//	}
//	for _, n := range deprecation.Fields(u, server) {
//		fmt.Fprintln(w, n) // .spec.loadBalancerIP is deprecated since 1.24; use …
//	}
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
