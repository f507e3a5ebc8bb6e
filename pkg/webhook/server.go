package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/admission"
)

// stopTimeout bounds the shutdown after the delay. Kubernetes allows thirty seconds for the delay
// and the shutdown together.
const stopTimeout = 15 * time.Second

// Server is one replica of the webhook.
type Server struct {
	manager     manager.Manager
	opts        Options
	certificate *SelfSigned // nil if another tool creates the certificate
	draining    atomic.Bool
	busy        sync.WaitGroup // the runners
}

// New returns the webhook for a cluster, composed of its parts.
func New(config *rest.Config, opts Options, parts Parts) (*Server, error) {
	if opts.CertDir == "" {
		return nil, errors.New("set up the webhook: no certificate folder")
	}
	if opts.ClientCA == "" && len(opts.ClientNames) > 0 {
		return nil, errors.New("set up the webhook: client names require a client CA")
	}
	if opts.ClientCA != "" {
		if _, err := (clients{authority: opts.ClientCA}).pool(); err != nil {
			return nil, fmt.Errorf("set up the webhook: %w", err)
		}
	}
	s := &Server{opts: opts}
	if err := s.assemble(config, parts); err != nil {
		return nil, fmt.Errorf("set up the webhook: %w", err)
	}
	return s, nil
}

// Start serves until the context ends. It then continues for the shutdown delay, because the API
// server keeps using its connections to a terminating Pod (k/k#127335). During the delay, the
// server is not ready, and each response tells the client to reconnect. Requests in progress are
// still answered.
func (s *Server) Start(ctx context.Context) error {
	if s.certificate != nil { // cert-controller gives up without a Secret.
		if err := s.certificate.step(ctx); err != nil && !errors.Is(err, errNoCertificate) {
			return fmt.Errorf("find the certificate: %w", err)
		}
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		s.draining.Store(true)
		s.opts.Log.Info("shutting down", "delay", s.opts.ShutdownDelay.String())
		select {
		case <-time.After(s.opts.ShutdownDelay):
			stop()
		case <-running.Done():
		}
	})()
	err := s.manager.Start(running)
	stop()
	s.finish(stopTimeout)
	return err
}

// finish waits for the runners, because the manager does not wait once the Lease is lost. Only this
// replica knows which users made the changes that it has not recorded yet.
func (s *Server) finish(timeout time.Duration) {
	ended := make(chan struct{})
	go func() {
		s.busy.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(timeout):
	}
}

func (s *Server) run(r Runner) everywhere {
	return func(ctx context.Context) error {
		s.busy.Add(1)
		defer s.busy.Done()
		return r.Run(ctx)
	}
}

func (s *Server) assemble(config *rest.Config, parts Parts) error {
	registry := s.opts.Registry
	if registry == nil {
		registry = ctrlmetrics.Registry
	}
	handlers, err := admission.New(admission.Options{
		Hints: parts.Hints, Deletions: parts.Deletions, Rollouts: parts.Rollouts, Live: parts.Live, Values: s.opts.RecordValues, Deprecations: parts.Deprecations, Draining: s.draining.Load, Log: s.opts.Log, Registry: registry,
	})
	if err != nil {
		return err
	}
	if err := registry.Register(expiry(s.opts.CertDir)); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	s.certificate = parts.SelfSigned
	address := net.JoinHostPort(s.opts.Host, strconv.Itoa(cmp.Or(s.opts.Port, defaultPort)))
	server := &serving{address: address, opts: s.opts, parts: parts, handlers: handlers}
	lock, err := newLease(config, cmp.Or(s.opts.Lease, defaultLease), release{s.opts.Release, s.opts.Namespace})
	if err != nil {
		return err
	}
	delay := stopTimeout
	s.manager, err = manager.New(config, manager.Options{
		Logger:                              s.opts.Log,
		Cache:                               cache.Options{ByObject: map[client.Object]cache.ByObject{definition(): {Transform: keepVersions}}},
		HealthProbeBindAddress:              s.opts.Health,
		Metrics:                             metricsserver.Options{BindAddress: s.opts.Metrics},
		LeaderElection:                      s.opts.LeaderElect,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true,
		GracefulShutdownTimeout:             &delay,
	})
	if err != nil {
		return err
	}
	lock.LockConfig.EventRecorder = s.manager.GetEventRecorderFor(lock.Identity()) //nolint:staticcheck // The lock needs this type of recorder.
	errs := []error{s.manager.Add(everywhere(server.Start)), s.addChecks(server.check, parts.Ready), s.addRunners(parts)}
	if parts.SelfSigned != nil {
		errs = append(errs, parts.SelfSigned.add(s.manager))
	}
	return errors.Join(errs...)
}

func (s *Server) addChecks(started healthz.Checker, ready []func() bool) error {
	parts := func(*http.Request) error {
		if s.draining.Load() {
			return errors.New("shutting down")
		}
		for _, isReady := range ready {
			if !isReady() {
				return errors.New("not ready yet")
			}
		}
		return nil
	}
	return errors.Join(
		s.manager.AddHealthzCheck("ping", healthz.Ping),
		s.manager.AddReadyzCheck("parts", parts),
		s.manager.AddReadyzCheck("admission", started),
	)
}

func (s *Server) addRunners(parts Parts) error {
	var errs []error
	for _, r := range parts.Runners {
		errs = append(errs, s.manager.Add(s.run(r)))
	}
	if parts.Definitions != nil {
		watch := definitions{cache: s.manager.GetCache(), to: parts.Definitions}
		errs = append(errs, s.manager.Add(everywhere(watch.run)))
	}
	if parts.Lead != nil {
		errs = append(errs, s.manager.Add(manager.RunnableFunc(func(context.Context) error {
			parts.Lead()
			return nil
		})))
	}
	return errors.Join(errs...)
}

// everywhere is a function that runs on every replica, whether or not the replica leads.
type everywhere func(ctx context.Context) error

func (run everywhere) Start(ctx context.Context) error { return run(ctx) }

func (run everywhere) NeedLeaderElection() bool { return false }
