package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// maxConnections limits the number of connections. An API server needs one or two.
const maxConnections = 256

// listener serves the API server. Unlike controller-runtime's server, it limits the number of
// connections (edge case 101).
type listener struct {
	address, certDir string
	tls              *tls.Config
	handler          http.Handler
	certificate      *SelfSigned // nil if another tool creates the certificate
	started          atomic.Bool
}

func (l *listener) Start(ctx context.Context) error {
	if l.certificate != nil && l.certificate.wait(ctx) != nil {
		return nil
	}
	watcher, err := certwatcher.New(filepath.Join(l.certDir, corev1.TLSCertKey), filepath.Join(l.certDir, corev1.TLSPrivateKeyKey))
	if err != nil {
		return err
	}
	go func() { _ = watcher.Start(ctx) }()
	l.tls.GetCertificate = watcher.GetCertificate
	all := connections{most: maxConnections}
	server := &http.Server{
		Handler: l.handler, TLSConfig: l.tls, ReadHeaderTimeout: readTimeout, IdleTimeout: idleTimeout, ConnState: all.changed,
	}
	accept, err := (&net.ListenConfig{}).Listen(ctx, "tcp", l.address)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		_ = server.Shutdown(ctx)
	}()
	l.started.Store(true)
	if err := server.ServeTLS(accept, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-ended
	return nil
}

func (l *listener) NeedLeaderElection() bool { return false }

func (l *listener) check(*http.Request) error {
	if !l.started.Load() {
		return errors.New("not started yet")
	}
	return nil
}

const (
	readTimeout = 5 * time.Second
	idleTimeout = 90 * time.Second
)

// connections tracks the connections of a server. If there are too many, it closes the connection
// that has been waiting longest, preferably a connection that has never sent a request.
type connections struct {
	most int
	mu   sync.Mutex
	all  map[net.Conn]connection
}

type connection struct {
	state http.ConnState
	since time.Time
}

func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateClosed, http.StateHijacked:
		delete(c.all, conn)
		return
	case http.StateNew, http.StateActive, http.StateIdle:
	}
	if c.all == nil {
		c.all = map[net.Conn]connection{}
	}
	c.all[conn] = connection{state, time.Now()}
	if len(c.all) <= c.most {
		return
	}
	if victim := c.victim(); victim != nil {
		delete(c.all, victim)
		go func() { _ = victim.Close() }() // Close may wait for the other side.
	}
}

func (c *connections) victim() (found net.Conn) {
	var is connection
	for conn, other := range c.all {
		earlier := found == nil || other.state < is.state || other.state == is.state && other.since.Before(is.since)
		if other.state != http.StateActive && earlier {
			found, is = conn, other
		}
	}
	return found
}

// clients checks that a client certificate is signed by an authority. If names are set, the common
// name of the certificate must be one of them.
type clients struct {
	// authority is a PEM file. It is read again for each connection, because it may be replaced.
	authority string
	names     []string
}

// require makes a TLS configuration require client certificates. It uses VerifyConnection, which
// also runs for resumed sessions. tls.RequireAndVerifyClientCert does not allow its authority to be
// replaced.
func (l clients) require(c *tls.Config) {
	c.ClientAuth = tls.RequireAnyClientCert
	c.VerifyConnection = l.verify
}

func (l clients) pool() (*x509.CertPool, error) {
	text, err := os.ReadFile(l.authority)
	if err != nil {
		return nil, fmt.Errorf("read the client CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the client CA: %s contains no certificate", l.authority)
	}
	return pool, nil
}

func (l clients) verify(s tls.ConnectionState) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the client has no certificate")
	}
	roots, err := l.pool()
	if err != nil {
		return err
	}
	between := x509.NewCertPool()
	for _, certificate := range s.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	if _, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return err
	}
	if len(l.names) > 0 && !slices.Contains(l.names, s.PeerCertificates[0].Subject.CommonName) {
		return errors.New("the client certificate has a name that is not allowed")
	}
	return nil
}
