package request

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Guard decides whether a write may be sent. It is asked for each write at the last
// moment: when the request has its turn and its credentials, and the connection is next.
type Guard interface {
	// Begin waits until a write may begin, and returns how long the server may take for
	// it; or an error, if it may not be sent at all. ended is called once it is over, with
	// true if the server has answered.
	Begin(ctx context.Context) (within time.Duration, ended func(answered bool), err error)
	// Fresh reports whether a write that has begun may still be sent.
	Fresh() bool
}

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

// errStale says that a write was not sent whole: the guard had let it pass too long ago.
var errStale = errors.New("the write waited too long to be sent")

// freshBody is a body that ends with an error once the guard does not let it pass any
// more: net/http may hold a request until there is a connection, or until the server takes
// more, and sends it again by itself where a connection was closed.
type freshBody struct {
	io.ReadCloser
	guard Guard
}

func (b *freshBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if !b.guard.Fresh() {
		return 0, errStale
	}
	return n, err
}

// decided reports whether the answer to a write is the last word about it. A server that fails
// may have stored it all the same, or do so later, unless it says that admission failed:
// that comes before.
func decided(resp *http.Response) bool {
	if resp.StatusCode < http.StatusInternalServerError {
		return true
	}
	const longest = 1 << 20
	body, err := io.ReadAll(io.LimitReader(resp.Body, longest))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
	var status metav1.Status
	return err == nil && json.Unmarshal(body, &status) == nil && ofWebhook(status)
}

// isQuestion reports whether a request asks something by creating an object that the
// server does not keep.
func isQuestion(req *http.Request) bool {
	return req.Method == http.MethodPost &&
		(strings.Contains(req.URL.Path, "/apis/authorization.k8s.io/") || strings.Contains(req.URL.Path, "/apis/authentication.k8s.io/"))
}
