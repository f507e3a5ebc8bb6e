// Package webhook is the companion that runs in the cluster. It answers admission requests with
// warnings about takeovers and deprecated APIs, and never denies a request. Start with [New] and
// [Server.Start]. Packages tracker and recorder keep the history.
package webhook
