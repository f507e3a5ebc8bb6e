// Package plan puts objects in order: what must exist before what. Objects of one phase may
// be applied in parallel; a phase begins when the one before it is done.
//
//	p, err := plan.Build(manifests, plan.Options{Kinds: kinds, Namespace: "prod"})
//
// The order follows from two things. Classes: definitions and namespaces, then what others
// refer to, then a network plugin and what runs without one, then workloads and everything
// else, then what intercepts requests (webhooks, policies, aggregated APIs), then unknown
// kinds. And needs: an object is in a later phase than those without which the API server
// would refuse it or the cluster would treat it differently, and than those that its
// config.kubernetes.io/depends-on annotation names. A class is the earliest place of an
// object; a need outranks it.
//
// It is pure: what the cluster knows of the kinds comes in as [object.Kind], and nothing is
// read or sent. It does not decide what happens to an object.
package plan
