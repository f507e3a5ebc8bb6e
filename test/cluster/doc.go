// Package cluster runs a real Kubernetes control plane on loopback, for tests:
// etcd, kube-apiserver, the controllers, the scheduler, and kwok, which plays
// the nodes. Server-side apply is never faked, because a fake that merges
// differently proves nothing.
//
//	c, err := cluster.Start(ctx, cluster.Options{Nodes: 1})
//	if err != nil { … }
//	defer c.Stop()
//	config, err := c.RESTConfig()
//
// In tests, [Shared] gives all tests of a package one cluster, and [ForTest] gives one
// test its own. The proxies of package proxy stand in front of an API server and behave like
// networks and busy servers. The binaries come from the module in tools, by way of
// [Build]; for people, the smallest cluster uses those that are already on the machine,
// by way of [Provide].
//
// Limits: no kubelet, so no container ever runs; no DNS and no service network, except
// what [Cluster.RouteService] answers to the API server; nothing that leaves loopback;
// not Windows.
package cluster
