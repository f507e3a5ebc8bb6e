// Package companion runs the webhook's program beside a control plane of package
// cluster, as the chart installs it: helm installs the real chart, the API server
// calls the real Service, and the process has the arguments of the Deployment and
// the permissions of its service account.
//
//	w, err := companion.Install(ctx, c, companion.Options{})
//	replica, err := w.Start(ctx)
//	replica.Kill()
//
// A balancer that leads to the running replicas replaces the Service. No pod runs: there
// is no other difference from a cluster.
package companion
