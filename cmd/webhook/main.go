// Command webhook tracks, in the cluster, who owns which field of every object,
// and warns of takeovers and of deprecated APIs. It never denies a request.
package main

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	opts := webhook.Options{Log: logTo(os.Stderr)}
	pflag.StringVar(&opts.Host, "host", "", "address to serve admission on; all by default")
	pflag.IntVar(&opts.Port, "port", 9443, "port to serve admission on")
	pflag.StringVar(&opts.CertDir, "cert-dir", "", "folder of tls.crt and tls.key, which are read again when they change")
	pflag.StringVar(&opts.Health, "health-address", ":8081", "address of /healthz and /readyz; 0 for none")
	pflag.StringVar(&opts.Metrics, "metrics-address", ":8080", "address of /metrics; 0 for none")
	pflag.StringVar(&opts.Namespace, "namespace", "", "namespace that the webhook runs in; found out by default")
	pflag.BoolVar(&opts.LeaderElect, "leader-elect", false, "agree with the other replicas on one that leads")
	pflag.DurationVar(&opts.ShutdownDelay, "shutdown-delay", 10*time.Second, "how long to answer still once told to end")
	pflag.Parse()
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	parts, err := partsFor(config)
	if err != nil {
		return err
	}
	server, err := webhook.New(config, opts, parts)
	if err != nil {
		return err
	}
	return server.Start(ctrl.SetupSignalHandler())
}

// partsFor makes what stands beside admission.
func partsFor(config *rest.Config) (webhook.Parts, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return webhook.Parts{}, fmt.Errorf("find the cluster: %w", err)
	}
	version, err := client.ServerVersion()
	if err != nil {
		return webhook.Parts{}, fmt.Errorf("ask for the server's version: %w", err)
	}
	release, err := deprecation.Server(*version)
	if err != nil {
		return webhook.Parts{}, fmt.Errorf("the server's version: %w", err)
	}
	catalogue := &webhook.Catalogue{Server: release}
	return webhook.Parts{Deprecations: catalogue, Definitions: catalogue}, nil
}

// logTo makes JSON lines of what the webhook and the libraries below it log. The
// libraries know one logger a process, so that it is set here, in main.
func logTo(file *os.File) logr.Logger {
	logger := slog.New(slog.NewJSONHandler(file, nil))
	log := logr.FromSlogHandler(logger.Handler())
	klog.SetSlogLogger(logger)
	ctrl.SetLogger(log)
	return log
}
