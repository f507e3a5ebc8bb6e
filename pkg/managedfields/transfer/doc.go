// Package transfer moves fields from one manager's entries of metadata.managedFields to another's,
// shares them, or leaves them without an owner. It changes entries and nothing else: what to
// send to a server, and when, is the caller's.
//
//	out, err := give.Give(entries, give.Wish{
//		Paths: []fieldpath.Path{replicas}, From: []string{"kubectl"}, To: "helm",
//	})
package transfer
