package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

var (
	// ErrNoAnswerInTime says that the time for an answer is over.
	ErrNoAnswerInTime = errors.New("no answer in time")
	errCutShort       = errors.New("the answer ended too early")
)

// lostError says that no answer came, or not all of it. The cause of a broken connection
// often has no type in net/http and http2; the place where it broke is certain. The error
// neither shows nor unwraps its cause, because client-go would recognize it and retry.
type lostError struct{ cause error }

// Broken says that a connection was lost, and by what.
func Broken(cause error) error { return &lostError{cause} }

func (e *lostError) Error() string { return "no answer from the API server" }

func asLost(ctx context.Context, err error) error {
	_, silent := errors.AsType[*stalledError](context.Cause(ctx))
	if !silent && ctx.Err() != nil || refused(err) {
		return err
	}
	return &lostError{err}
}

// refused reports whether both sides spoke and one declined, so that waiting does not
// help.
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
		return op.Op == "remote error" // crypto/tls's word for an alert of the server's
	default:
		return false
	}
}

// stalledError ends a request that has been silent since then, while the server did not
// answer another one either.
type stalledError struct{ since time.Time }

func (e *stalledError) Error() string { return ErrNoAnswerInTime.Error() }

// pageError says that a web page came where an API server should have answered.
type pageError struct {
	host string
	code int
}

func (e *pageError) Error() string {
	return fmt.Sprintf("%s answers with a web page (%d), not as an API server does", e.host, e.code)
}

// Hint says whose page it may be.
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
