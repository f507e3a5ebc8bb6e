package transport

import (
	"context"
	"net/http"
	"strings"
)

// Guard waits until a write may be sent, or returns why it may not. It is asked for each
// write at the last moment: when the request has its turn and its credentials, and the
// connection is next.
type Guard func(ctx context.Context) error

type unguardedKey struct{}

// Unguarded returns a context that bypasses the guard, for requests outside its
// protection, such as those for the lock itself.
func Unguarded(ctx context.Context) context.Context {
	return context.WithValue(ctx, unguardedKey{}, true)
}

func isUnguarded(ctx context.Context) bool { return ctx.Value(unguardedKey{}) != nil }

// refusedError says that a write was not sent: the guard refused it.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }

// Unwrap returns why.
func (e *refusedError) Unwrap() error { return e.err }

// guarded asks the guard about a write.
func (t *transport) guarded(req *http.Request) error {
	ctx := req.Context()
	if t.guard == nil || !writes(req) || attemptOf(ctx).unguarded {
		return nil
	}
	err := t.guard(ctx)
	if err == nil || ctx.Err() != nil { // It was waited for to the end of the request's time.
		return err
	}
	return &refusedError{err}
}

// isQuestion reports whether a request asks something by creating an object that the
// server does not keep.
func isQuestion(req *http.Request) bool {
	return req.Method == http.MethodPost &&
		(strings.Contains(req.URL.Path, "/apis/authorization.k8s.io/") || strings.Contains(req.URL.Path, "/apis/authentication.k8s.io/"))
}
