package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// UnreachableError says that the server was unreachable for longer than Options.Timeout.
type UnreachableError struct {
	// For is how long the server was unreachable; 0 if the client tried only once and did not wait
	// for the response.
	For time.Duration
	Err error
}

func (e *UnreachableError) Error() string {
	if e.For == 0 {
		return fmt.Sprintf("the API server cannot be reached: %v", e.Err)
	}
	return fmt.Sprintf("the API server cannot be reached, after trying for %s: %v", e.For.Round(time.Second), e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// Unreachable marks an error that says nothing about the object.
func (e *UnreachableError) Unreachable() bool { return true }

func (e *UnreachableError) Hint() string {
	if hint := object.HintOf(e.Err); hint != "" {
		return hint
	}
	var name *net.DNSError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(e.Err, &name) && name.IsNotFound:
		return "the host name of the server in the kubeconfig does not resolve: is it spelled correctly?"
	case errors.As(e.Err, &invalid) && invalid.Reason == x509.Expired:
		return "is this machine's clock right (`date -u`)? If so, renew the server's certificate"
	case is[x509.HostnameError](e.Err):
		return "the server's certificate is for another name: is the address in the kubeconfig right? --tls-server-name sets the expected name"
	case is[x509.UnknownAuthorityError](e.Err), is[*tls.CertificateVerificationError](e.Err):
		return "the kubeconfig does not trust the server's certificate: is this the right cluster, and is certificate-authority-data current?"
	case is[tls.RecordHeaderError](e.Err), errors.Is(e.Err, http.ErrSchemeMismatch):
		return "the program at the server's address does not speak TLS: is the address right?"
	case is[*net.OpError](e.Err) && refused(e.Err):
		return "the server rejected the connection: has the client certificate in the kubeconfig expired?"
	default:
		return "check the address (" + command.Kubectl("cluster-info") + "); --server-timeout=10m waits for a cluster that is still starting"
	}
}

// credentialsError says that the credential program or the login in the kubeconfig failed. The
// request was not sent.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string {
	return fmt.Sprintf("no request was sent to the API server: %v", e.err)
}

func (e *credentialsError) Unwrap() error { return e.err }

func (e *credentialsError) Unreachable() bool { return true }

func (e *credentialsError) Hint() string {
	return "the credential plugin or the login in the kubeconfig failed: do you need to log in again? See: " + command.Kubectl("config", "view", "--minify")
}

type startingError struct {
	code    int32
	failing []string
}

func (e *startingError) Error() string {
	if len(e.failing) > 0 {
		return fmt.Sprintf("the API server is running but not ready: %s failed", strings.Join(e.failing, ", "))
	}
	return fmt.Sprintf("the API server is starting (/readyz returns %d)", e.code)
}

// In a response from /readyz, failing checks begin with [-].
func failingChecks(err error) []string {
	var failing []string
	details := StatusOf(err).Details
	if details == nil {
		return nil
	}
	for _, cause := range details.Causes {
		for line := range strings.Lines(cause.Message) {
			if check, found := strings.CutPrefix(line, "[-]"); found {
				check, _, _ = strings.Cut(check, " failed")
				failing = append(failing, strings.TrimSpace(check))
			}
		}
	}
	return failing
}

func (e *startingError) Starting() bool { return true }

type unansweredError struct{ object.HintedError }

func (*unansweredError) Unreachable() bool { return true }

// Unanswered returns an error that says nothing about the object, with a hint. format is as in
// [fmt.Errorf].
func Unanswered(advice, format string, args ...any) error {
	return &unansweredError{object.HintedError{Err: fmt.Errorf(format, args...), Advice: advice}}
}

// NoAnswer returns the error for a request that a reachable server did not answer.
func NoAnswer(err error) error {
	return Unanswered(Hint, "the API server is reachable, but did not answer this request: %w", err)
}

// busyError says that the server was too busy at every attempt. This is not a refusal (edge case
// 90).
type busyError struct {
	err   error
	tried time.Duration
}

func (e *busyError) Error() string {
	if e.tried == 0 {
		return e.err.Error()
	}
	return fmt.Sprintf("%v (retried for %s)", e.err, e.tried.Round(time.Second))
}

func (e *busyError) Unwrap() error { return e.err }

func (e *busyError) Unreachable() bool { return true }

func (e *busyError) Hint() string {
	return cmp.Or(object.HintOf(e.err), "retry later, or keep trying longer with --server-timeout=5m")
}

// underwayError says that a write may have been carried out. It was stopped while in progress, or
// its response was lost.
type underwayError struct{ err error }

func (e *underwayError) Error() string { return e.err.Error() }

func (e *underwayError) Unwrap() error { return e.err }

func (e *underwayError) MayBeWritten() bool { return true }

func explain(err error) error {
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return refused.err
	}
	if unsent, ok := errors.AsType[*url.Error](err); ok {
		return &UnreachableError{Err: unsent.Err}
	}
	var hint string
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		hint = "the namespace is being deleted; wait until it is gone, then apply again"
	case apierrors.IsNotFound(err) && isAbout("namespaces", StatusOf(err)):
		hint = "create the namespace, or add it to the manifests: namespaces are applied first"
	case apierrors.IsUnauthorized(err):
		hint = "the server rejected the credentials; have they expired? See: " + command.Kubectl("auth", "whoami")
	default:
		return err
	}
	return &object.HintedError{Err: err, Advice: hint}
}

var (
	// ErrNoAnswerInTime says that a request timed out.
	ErrNoAnswerInTime = errors.New("no answer in time")
	errCutShort       = errors.New("the answer is truncated")
)

// lostError says that a response is missing or truncated. Errors of net/http often have no type, so
// lostError marks them where they occur. It does not unwrap to its cause, because client-go would
// recognize the cause and retry the request.
type lostError struct{ cause error }

// Broken returns the error for a lost connection.
func Broken(cause error) error { return &lostError{cause} }

func (e *lostError) Error() string { return "no answer from the API server" }

func asLost(ctx context.Context, err error) error {
	if ctx.Err() != nil && !is[*stalledError](context.Cause(ctx)) || refused(err) {
		return err
	}
	return &lostError{err}
}

func refused(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" { // a TLS alert
		return true
	}
	return is[*tls.CertificateVerificationError](err) || is[x509.UnknownAuthorityError](err) || is[x509.HostnameError](err) ||
		is[x509.CertificateInvalidError](err) || is[tls.RecordHeaderError](err) || is[*net.AddrError](err)
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// stalledError ends a request that has had no response since the given time. The server did not
// answer a probe either.
type stalledError struct{ since time.Time }

func (e *stalledError) Error() string { return ErrNoAnswerInTime.Error() }

type pageError struct {
	host string
	code int
}

func (e *pageError) Error() string {
	return fmt.Sprintf("%s returned a web page (%d) instead of an API server's answer", e.host, e.code)
}

func (e *pageError) Hint() string {
	return "is it the login page of a proxy? Check HTTPS_PROXY and NO_PROXY, and the server's address in the kubeconfig"
}

// CauseOf returns the error that broke the connection.
func CauseOf(err error) error {
	if wrong, ok := errors.AsType[*WrongError](err); ok {
		return wrong
	}
	if page, ok := errors.AsType[*pageError](err); ok {
		return page
	}
	lost, ok := errors.AsType[*lostError](err)
	switch {
	case ok:
		return lost.cause
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errCutShort
	case StatusOf(err).Code == 0:
		return ErrNoAnswerInTime
	default:
		return err
	}
}
