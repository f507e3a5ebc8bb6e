// Package webhook is the companion in the cluster: it answers admission requests
// and says who took whose field and which API is deprecated, always allowing.
//
//	server, err := webhook.New(config, webhook.Options{})
//	err = server.Start(ctx)
//
// It keeps no history itself: what admission saw becomes a hint for those who do.
package webhook
