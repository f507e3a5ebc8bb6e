// Package diff compares live objects with their predicted state after a plan, each cut to the
// fields that we own or would own. Start with [Engine.Run]; ErrDiffers reports a difference. It
// writes nothing and renders nothing.
package diff
