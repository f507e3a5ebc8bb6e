// Package proxy puts faults between a client and an API server: [TCP] is a slow or broken network,
// and [HTTP] a busy or failing server. All other requests reach the real API server.
package proxy
