package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NoKindError says that the server does not serve a kind.
type NoKindError struct {
	GVK schema.GroupVersionKind
}

func (e *NoKindError) Error() string {
	return fmt.Sprintf("the server serves no kind %s in %s", e.GVK.Kind, e.GVK.GroupVersion())
}

// Hint says what may be missing.
func (e *NoKindError) Hint() string {
	return "is its CustomResourceDefinition installed, and the version one that this server still has? See: kubectl api-resources"
}

// UnreachableError says that the server was away for longer than we were to
// wait for it.
type UnreachableError struct {
	// For is how long it was waited for.
	For time.Duration
	Err error
}

func (e *UnreachableError) Error() string {
	if e.For == 0 {
		return fmt.Sprintf("the API server can not be reached: %v", e.Err)
	}
	return fmt.Sprintf("the API server can not be reached, after trying for %s: %v", e.For.Round(time.Second), e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// Unreachable marks errors that say nothing about the object.
func (e *UnreachableError) Unreachable() bool { return true }

// Hint says how to wait longer.
func (e *UnreachableError) Hint() string {
	return "check the address (kubectl cluster-info); --server-timeout=10m waits for a cluster that is still starting"
}

// hintedError is an error with what can be done about it.
type hintedError struct {
	err         error
	hint        string
	unreachable bool
}

func (e *hintedError) Error() string { return e.err.Error() }

func (e *hintedError) Unwrap() error { return e.err }

func (e *hintedError) Hint() string { return e.hint }

// hinted adds a hint to errors of which we know what helps.
func hinted(err error) error {
	var hint string
	var authority x509.UnknownAuthorityError
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	switch {
	case err == nil:
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		hint = "the namespace is being deleted; wait until it is gone, then apply again"
	case apierrors.IsNotFound(err) && detailsOf(err).Kind == "namespaces":
		hint = "create the namespace, or put it into the set: it is applied first"
	case apierrors.IsUnauthorized(err):
		hint = "the server does not accept the credentials; are they expired? See: kubectl auth whoami"
	case errors.As(err, &authority), errors.As(err, &certificate):
		hint = "the server's certificate is not one that the kubeconfig trusts: is it the right cluster, and its certificate-authority-data current?"
	case errors.As(err, &name) && name.IsNotFound:
		hint = "the host name of the server in the kubeconfig does not resolve"
	default:
		return err
	}
	return &hintedError{err: err, hint: hint}
}

// detailsOf returns the details of a server's answer, empty where it gave none.
func detailsOf(err error) metav1.StatusDetails {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return metav1.StatusDetails{}
	}
	return *status.Status().Details
}
