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

// UnreachableError says that the server was unreachable for longer than we wait.
type UnreachableError struct {
	// For is how long we waited.
	For time.Duration
	Err error
}

func (e *UnreachableError) Error() string {
	if e.For == 0 {
		return fmt.Sprintf("the API server cannot be reached: %v", e.Err)
	}
	return fmt.Sprintf("the API server cannot be reached, after trying for %s: %v", e.For.Round(time.Second), e.Err)
}

// Unwrap returns why it could not be reached.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Unreachable marks errors that say nothing about the object.
func (e *UnreachableError) Unreachable() bool { return true }

// Hint says how to wait longer, or what to correct.
func (e *UnreachableError) Hint() string {
	var (
		name        *net.DNSError
		authority   x509.UnknownAuthorityError
		certificate *tls.CertificateVerificationError
		invalid     x509.CertificateInvalidError
		host        x509.HostnameError
		noTLS       tls.RecordHeaderError
		alert       *net.OpError
	)
	if page, ok := errors.AsType[*pageError](e.Err); ok {
		return page.Hint()
	}
	if wrong, ok := errors.AsType[*WrongError](e.Err); ok {
		return wrong.Hint()
	}
	switch {
	case errors.As(e.Err, &name) && name.IsNotFound:
		return "the host name of the server in the kubeconfig does not resolve: is it spelled correctly?"
	case errors.As(e.Err, &invalid) && invalid.Reason == x509.Expired:
		return "is this machine's clock right (`date -u`)? If so, the server's certificate has to be renewed"
	case errors.As(e.Err, &host):
		return "the server's certificate is not for that name: is the address in the kubeconfig right? --tls-server-name says for which name it has to be"
	case errors.As(e.Err, &authority), errors.As(e.Err, &certificate):
		return "the server's certificate is not one that the kubeconfig trusts: is it the right cluster, and its certificate-authority-data current?"
	case errors.As(e.Err, &noTLS), errors.Is(e.Err, http.ErrSchemeMismatch):
		return "what listens at the server's address does not speak TLS: is the address right?"
	case errors.As(e.Err, &alert) && refused(e.Err):
		return "the server declined the connection: is the client certificate in the kubeconfig current?"
	default:
		return "check the address (" + command.Kubectl("cluster-info") + "); --server-timeout=10m waits for a cluster that is still starting"
	}
}

// credentialsError says that no request was sent, because the credential program or login of the
// kubeconfig failed. It says nothing about the server or the object.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string {
	return fmt.Sprintf("the API server was not asked: %v", e.err)
}

func (e *credentialsError) Unwrap() error { return e.err }

// Unreachable marks errors that say nothing about the object.
func (e *credentialsError) Unreachable() bool { return true }

func (e *credentialsError) Hint() string {
	return "getting credentials as the kubeconfig says failed: is a login due? See: " + command.Kubectl("config", "view", "--minify")
}

// startingError says that the server is reachable, but not ready.
type startingError struct {
	code int32
	// failing are the failing checks that the server names.
	failing []string
}

func (e *startingError) Error() string {
	if len(e.failing) > 0 {
		return fmt.Sprintf("the API server is there, but not ready: %s failed", strings.Join(e.failing, ", "))
	}
	return fmt.Sprintf("the API server is starting (it answers /readyz with %d)", e.code)
}

// failingChecks reads the failing checks from an answer of /readyz: lines that begin with [-].
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

// Starting distinguishes a server that is not ready from one that does not answer.
func (e *startingError) Starting() bool { return true }

// unansweredError is an error with a hint that says nothing about the object.
type unansweredError struct{ object.HintedError }

func (*unansweredError) Unreachable() bool { return true }

// Unanswered returns an error with a hint that says nothing about the object, with the text of
// [fmt.Errorf].
func Unanswered(advice, format string, args ...any) error {
	return &unansweredError{object.HintedError{Err: fmt.Errorf(format, args...), Advice: advice}}
}

// NoAnswer returns the error for a request that a reachable server never answered.
func NoAnswer(err error) error {
	return Unanswered(Hint, "the API server is reachable, but does not answer this request: %w", err)
}

// busyError says that the server was too busy for a request for as long as we tried. It has refused
// nothing (edge case 90).
type busyError struct {
	err error
	// tried is how long we tried; 0 for once.
	tried time.Duration
}

func (e *busyError) Error() string {
	if e.tried == 0 {
		return e.err.Error()
	}
	return fmt.Sprintf("%v (retried for %s)", e.err, e.tried.Round(time.Second))
}

func (e *busyError) Unwrap() error { return e.err }

// Unreachable marks errors that say nothing about the object.
func (e *busyError) Unreachable() bool { return true }

func (e *busyError) Hint() string {
	return cmp.Or(object.HintOf(e.err), "retry later; --server-timeout=5m keeps trying longer")
}

// underwayError says that it is unknown whether a write arrived: we stopped while it was in
// progress, or got no answer.
type underwayError struct{ err error }

func (e *underwayError) Error() string { return e.err.Error() }

func (e *underwayError) Unwrap() error { return e.err }

// MayBeWritten marks errors of writes that may or may not have arrived.
func (e *underwayError) MayBeWritten() bool { return true }

// explain turns a final error into the one for the caller: with a hint if there is a remedy, and
// marked if the request never reached the server.
func explain(err error) error {
	var unsent *url.Error
	var hint string
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return refused.err
	}
	switch {
	case errors.As(err, &unsent):
		return &UnreachableError{Err: unsent.Err}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		hint = "the namespace is being deleted; wait until it is gone, then apply again"
	case apierrors.IsNotFound(err) && detailsOf(err).Kind == "namespaces":
		hint = "create the namespace, or put it into the set: it is applied first"
	case apierrors.IsUnauthorized(err):
		hint = "the server does not accept the credentials; are they expired? See: " + command.Kubectl("auth", "whoami")
	default:
		return err
	}
	return &object.HintedError{Err: err, Advice: hint}
}

var (
	// ErrNoAnswerInTime says that the time for an answer is over.
	ErrNoAnswerInTime = errors.New("no answer in time")
	errCutShort       = errors.New("the answer ended too early")
)

// lostError says that the answer is missing or truncated. The cause often has no type in net/http
// and http2; the place where it occurred is certain. The error neither shows nor unwraps its cause,
// which client-go would recognize and retry.
type lostError struct{ cause error }

// Broken returns the error for a connection that was lost for this cause.
func Broken(cause error) error { return &lostError{cause} }

func (e *lostError) Error() string { return "no answer from the API server" }

func asLost(ctx context.Context, err error) error {
	_, silent := errors.AsType[*stalledError](context.Cause(ctx))
	if !silent && ctx.Err() != nil || refused(err) {
		return err
	}
	return &lostError{err}
}

// refused reports whether both sides spoke and one declined, so that waiting does not help.
func refused(err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		name        x509.HostnameError
		invalid     x509.CertificateInvalidError
		noTLS       tls.RecordHeaderError
		address     *net.AddrError
		op          *net.OpError
	)
	switch {
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &name), errors.As(err, &invalid),
		errors.As(err, &noTLS), errors.As(err, &address):
		return true
	case errors.As(err, &op):
		return op.Op == "remote error" // crypto/tls's word for an alert from the server
	default:
		return false
	}
}

// stalledError ends a request that has been silent since then, while the server did not answer
// another one either.
type stalledError struct{ since time.Time }

func (e *stalledError) Error() string { return ErrNoAnswerInTime.Error() }

// pageError says that a web page came instead of an API server's answer.
type pageError struct {
	host string
	code int
}

func (e *pageError) Error() string {
	return fmt.Sprintf("%s answers with a web page (%d), not as an API server does", e.host, e.code)
}

func (e *pageError) Hint() string {
	return "is it the login page of a proxy? Check HTTPS_PROXY and NO_PROXY, and the server's address in the kubeconfig"
}

// CauseOf returns what broke the connection.
func CauseOf(err error) error {
	var broken *lostError
	var page *pageError
	var wrong *WrongError
	switch {
	case errors.As(err, &wrong):
		return wrong
	case errors.As(err, &page):
		return page
	case errors.As(err, &broken):
		return broken.cause
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errCutShort
	case StatusOf(err).Code == 0:
		return ErrNoAnswerInTime
	default:
		return err
	}
}
