package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"sync/atomic"

	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
)

// serving is controller-runtime's webhook server behind a front.
type serving struct {
	ctrlwebhook.Server
	front       *front
	address     string
	certificate *SelfSigned // nil if another tool creates the certificate
	started     atomic.Bool
}

// newServing returns the server of the handlers by path. It does not listen yet. Behind limits a
// handler to clients with the secret path; if it is nil, every client may call the handlers.
func newServing(ctx context.Context, address string, opts Options, parts Parts, handlers map[string]http.Handler) (*serving, error) {
	port, err := loopbackPort(ctx)
	if err != nil {
		return nil, err
	}
	s := &serving{address: address, front: newFront(loopback, port), certificate: parts.SelfSigned}
	s.Server = ctrlwebhook.NewServer(ctrlwebhook.Options{
		Host: loopback, Port: port, CertDir: opts.CertDir,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.MinVersion, c.NextProtos = tls.VersionTLS12, []string{"h2", "http/1.1"}
			if opts.ClientCA != "" {
				clients{authority: opts.ClientCA, names: opts.ClientNames}.require(c)
			}
		}},
	})
	for path, handler := range handlers {
		handler = s.front.prefer(handler)
		if parts.Behind == nil {
			s.Register(path, handler)
		} else {
			s.Register(path+"/", parts.Behind(handler))
		}
	}
	return s, nil
}

// Start serves until the context ends and the requests in progress have been answered.
func (s *serving) Start(ctx context.Context) error {
	if s.certificate != nil && s.certificate.wait(ctx) != nil {
		return nil
	}
	if err := s.front.listen(ctx, s.address); err != nil {
		return err
	}
	s.started.Store(true)
	if err := s.Server.Start(ctx); err != nil {
		return err
	}
	s.front.all.Wait() // The last responses are on their way to the clients.
	return nil
}

func (s *serving) check(r *http.Request) error {
	if !s.started.Load() {
		return errors.New("not started yet")
	}
	return s.StartedChecker()(r)
}
