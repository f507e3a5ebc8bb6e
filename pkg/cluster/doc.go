// Package cluster is the only door to the API server: the kinds that it serves, reads,
// server-side apply, and the steps that every request goes through (retry, waiting for a
// server that is away, rate, warnings).
//
//	client, err := cluster.New(cluster.Options{REST: config, CacheDir: dir})
//	kind, err := client.Kind(ctx, gvk)
//	answer, err := client.Apply(ctx, kind, obj, object.Write{Manager: "k8sconnect"})
//
// Callers may start any number of calls in parallel; the client sends as many as the
// server can handle. It knows nothing of plans, owners or output.
package cluster
