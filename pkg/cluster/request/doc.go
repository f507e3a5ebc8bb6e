// Package request sends requests to an API server and brings back what becomes of
// them: at the pace that the server allows, again when what kept a request from
// succeeding may pass, after waiting when the server is away, and with each failure
// told by type and reason.
//
//	sender := request.New(client, request.Options{Timeout: 30 * time.Second})
//	err := sender.Do(ctx, request.Request{Ref: ref}, func(ctx context.Context) error { … })
//
// It knows nothing of kinds, lists or watches.
package request
