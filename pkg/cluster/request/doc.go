// Package request sends requests to an API server and returns their results: at the pace
// that the server allows, with retries if the obstacle may pass, after waiting if the
// server is away, and with each failure classified by type and reason.
//
//	sender := request.New(client, request.Options{Timeout: 30 * time.Second})
//	err := sender.Do(ctx, request.Request{Ref: ref}, func(ctx context.Context) error { … })
//
// It knows nothing of kinds, lists or watches.
package request
