// Package cluster is the only door to the API server: which kinds it serves,
// reads, server-side apply, and what every request has to go through on its
// way (retry, waiting for a server that is away, pace, warnings).
//
//	client, err := cluster.New(cluster.Options{REST: config, CacheDir: dir})
//	kind, err := client.Kind(ctx, gvk)
//	answer, err := client.Apply(ctx, kind, obj, object.Write{Manager: "k8sconnect"})
//
// Callers start as many calls side by side as they like; the client lets through
// what the server can take. It knows nothing of plans, owners or output.
package cluster
