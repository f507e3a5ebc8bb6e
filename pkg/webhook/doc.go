// Package webhook is the companion in the cluster: it answers admission requests and
// reports takeovers of fields and deprecated APIs, always allowing the request.
//
//	server, err := webhook.New(config, webhook.Options{})
//	err = server.Start(ctx)
//
// It keeps no history itself: what admission saw becomes a hint for the packages that do.
package webhook
