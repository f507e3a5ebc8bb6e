package webhook

import (
	"fmt"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Options of the webhook. The zero value listens on controller-runtime's ports.
type Options struct {
	// Host and Port to serve admission on.
	Host string
	Port int
	// CertDir holds tls.crt and tls.key.
	CertDir string
	// Health and Metrics are addresses to listen on, such as ":8081"; "0" is none.
	Health, Metrics string
}

// New returns the webhook for the cluster of config. Its Start serves until the
// context ends.
func New(config *rest.Config, opts Options) (manager.Manager, error) {
	m, err := manager.New(config, manager.Options{
		HealthProbeBindAddress: opts.Health,
		Metrics:                metricsserver.Options{BindAddress: opts.Metrics},
		WebhookServer: ctrlwebhook.NewServer(ctrlwebhook.Options{
			Host: opts.Host, Port: opts.Port, CertDir: opts.CertDir,
		}),
	})
	if err != nil {
		return nil, fmt.Errorf("set up the webhook: %w", err)
	}
	if err := m.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("set up the webhook: %w", err)
	}
	return m, nil
}
