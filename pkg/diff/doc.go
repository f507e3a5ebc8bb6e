// Package diff compares what is there with what the server would make of a
// plan: for each object its managed projection, now and as predicted.
//
//	engine := diff.Engine{Server: client, Predictor: predictor, Emit: emit}
//	err := engine.Run(ctx, p) // errors.Is(err, diff.ErrDiffers)
//
// Fields that we neither own nor would own are not in it; what we would take
// from others is, marked with its owner. It writes nothing and renders nothing.
package diff
