package main

import (
	"context"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// conflictsAsInfo logs an error at the level Info if another replica's write caused it. Two replicas
// that start at the same time both create the certificate. The API server refuses one of them, and
// that replica tries again. cert-controller and controller-runtime log this as an error.
type conflictsAsInfo struct{ slog.Handler }

func (h conflictsAsInfo) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError && isConflict(r) {
		r.Level = slog.LevelInfo
		if !h.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return h.Handler.Handle(ctx, r)
}

func isConflict(r slog.Record) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			found = apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
		}
		return !found
	})
	return found
}

func (h conflictsAsInfo) WithAttrs(attrs []slog.Attr) slog.Handler {
	return conflictsAsInfo{h.Handler.WithAttrs(attrs)}
}

func (h conflictsAsInfo) WithGroup(name string) slog.Handler {
	return conflictsAsInfo{h.Handler.WithGroup(name)}
}
