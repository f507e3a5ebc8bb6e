package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// maxConnections bounds the connections. An API server needs one or two.
const maxConnections = 256

// listener answers the API server. controller-runtime's holds any number of connections (edge case
// 101).
type listener struct {
	address, certDir string
	tls              *tls.Config
	handler          http.Handler
	certificate      *SelfSigned // nil if another tool makes it
	started          atomic.Bool
}

// Start answers until the context ends, and finishes the requests in progress.
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

// NeedLeaderElection returns false: every replica answers.
func (l *listener) NeedLeaderElection() bool { return false }

// check reports whether the listener answers.
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

// connections are those of a server. When there are too many, the one that has waited longest ends:
// of those that never sent a request, if there are any.
type connections struct {
	most int
	mu   sync.Mutex
	all  map[net.Conn]connection
}

type connection struct {
	state http.ConnState
	since time.Time
}

// changed records the state of a connection.
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
		go func() { _ = victim.Close() }() // It may wait for the other side.
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
