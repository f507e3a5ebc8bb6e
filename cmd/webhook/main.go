// Command webhook tracks, in the cluster, who owns which field of every object,
// and warns of takeovers and of deprecated APIs. It never denies a request.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	var opts webhook.Options
	pflag.StringVar(&opts.Host, "host", "", "address to serve admission on; all by default")
	pflag.IntVar(&opts.Port, "port", 9443, "port to serve admission on")
	pflag.StringVar(&opts.CertDir, "cert-dir", "/tmp/certs", "folder of tls.crt and tls.key")
	pflag.StringVar(&opts.Health, "health-address", ":8081", "address of /healthz and /readyz; 0 for none")
	pflag.StringVar(&opts.Metrics, "metrics-address", ":8080", "address of /metrics; 0 for none")
	pflag.Parse()
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	server, err := webhook.New(config, opts)
	if err != nil {
		return err
	}
	return server.Start(signals.SetupSignalHandler())
}
