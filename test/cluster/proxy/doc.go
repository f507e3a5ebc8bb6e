// Package proxy has what stands between a client and an API server in tests: a stretch of network
// that is slow or breaks ([TCP]), and a server that is busy or sick ([HTTP]). Other requests go to
// the real API server, which answers them.
package proxy
