// Package webhook is the companion in the cluster: it answers admission requests, always with yes,
// and warns of takeovers and deprecated APIs. Start with [New] and Start. It keeps no history
// itself: tracker and recorder do.
package webhook
