// Package proxy has what stands between a client and an API server in tests: a stretch of
// network that is slow or breaks ([TCP]), and a server that is busy or sick ([HTTP]). What
// is not failed on purpose goes to the real API server, and is answered by it.
package proxy
