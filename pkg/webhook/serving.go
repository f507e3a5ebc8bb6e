package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
)

// serving runs controller-runtime's webhook server behind a front.
type serving struct {
	address  string
	opts     Options
	parts    Parts
	handlers map[string]http.Handler // by path
	started  atomic.Pointer[healthz.Checker]
}

// Start serves until the context ends and the requests in progress have been answered.
func (s *serving) Start(ctx context.Context) error {
	if s.parts.SelfSigned != nil && s.parts.SelfSigned.wait(ctx) != nil {
		return nil
	}
	port, err := loopbackPort(ctx)
	if err != nil {
		return err
	}
	f := newFront(loopback, port)
	server := s.server(f, port)
	if err := f.listen(ctx, s.address); err != nil {
		return err
	}
	started := server.StartedChecker()
	s.started.Store(&started)
	if err := server.Start(ctx); err != nil {
		return err
	}
	f.all.Wait() // The last responses are on their way to the clients.
	return nil
}

// server returns the server of the handlers. If there is a secret path, a handler only answers
// clients that know it.
func (s *serving) server(f *front, port int) ctrlwebhook.Server {
	server := ctrlwebhook.NewServer(ctrlwebhook.Options{
		Host: loopback, Port: port, CertDir: s.opts.CertDir,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.MinVersion, c.NextProtos = tls.VersionTLS12, []string{"h2", "http/1.1"}
			if s.opts.ClientCA != "" {
				clients{authority: s.opts.ClientCA, names: s.opts.ClientNames}.require(c)
			}
		}},
	})
	for path, handler := range s.handlers {
		handler = f.prefer(handler)
		if s.parts.Behind == nil {
			server.Register(path, handler)
		} else {
			server.Register(path+"/", s.parts.Behind(handler))
		}
	}
	return server
}

func (s *serving) check(r *http.Request) error {
	started := s.started.Load()
	if started == nil {
		return errors.New("not started yet")
	}
	return (*started)(r)
}
