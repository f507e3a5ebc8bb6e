// Command webhook tracks which manager owns which field of every object in a cluster, and warns
// about takeovers and deprecated APIs. It never denies a request.
package main

import (
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/build"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/admission"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	var level slog.LevelVar
	opts := webhook.Options{Log: logTo(os.Stderr, &level)}
	setup := webhook.Setup{}
	kinds := pflag.StringSlice("exclude-kinds", nil, "kinds that are not tracked, as Kind or Kind.group")
	transitions := pflag.Bool("log-transitions", false, "write every change of owners to stdout, as a line of JSON")
	pflag.StringVar(&opts.Host, "host", "", "address to serve admission on; by default, all addresses")
	pflag.IntVar(&opts.Port, "port", 9443, "port to serve admission on")
	pflag.StringVar(&opts.CertDir, "cert-dir", "", "folder with tls.crt and tls.key, which are reloaded when they change; with --self-signed, the webhook writes them")
	pflag.StringVar(&opts.ClientCA, "client-ca", "", "file with the CA certificates that verify client certificates; by default, clients need no certificate")
	pflag.StringSliceVar(&opts.ClientNames, "client-names", nil, "allowed common names of client certificates, with --client-ca; any by default")
	pflag.StringVar(&opts.Health, "health-address", ":8081", "address of /healthz and /readyz; 0 for none")
	pflag.StringVar(&opts.Metrics, "metrics-address", ":8080", "address of /metrics; 0 for none")
	pflag.StringVar(&opts.Namespace, "namespace", "", "namespace that the webhook runs in")
	pflag.BoolVar(&opts.RecordValues, "record-values", false, "record the numbers, images and booleans at the few paths listed in docs/webhook.md")
	pflag.BoolVar(&opts.LeaderElect, "leader-elect", false, "elect a leader among the replicas")
	pflag.DurationVar(&opts.ShutdownDelay, "shutdown-delay", 10*time.Second, "how long to keep serving after SIGTERM")
	pflag.StringVar(&setup.Service, "service", "k8sconnect", "name of the webhook's Service, Lease and checkpoint ConfigMap")
	pflag.BoolVar(&setup.SelfSigned, "self-signed", false, "create and renew the certificate")
	pflag.StringVar(&setup.Secret, "certificate-secret", "k8sconnect-self-signed", "Secret for the certificate, with --self-signed")
	pflag.StringVar(&setup.Configuration, "webhook-configuration", "k8sconnect", "ValidatingWebhookConfiguration through which the API server calls the webhook; with --self-signed, the webhook adds its CA")
	pflag.BoolVar(&setup.SuspendCalls, "suspend-calls", false, "suspend the API server's calls to the webhook when they fail, until test calls succeed")
	pflag.StringVar(&setup.PathSecret, "path-secret", "k8sconnect-path", "Secret with the token appended to the paths in the webhook configuration")
	pflag.StringVar(&opts.Release, "release", "", "Helm release that owns the objects recreated by the webhook")
	pflag.StringSliceVar(&setup.ExcludeNamespaces, "exclude-namespaces", nil, "namespaces whose objects are not tracked")
	pflag.BoolVar(&setup.Deletions, "record-deletions", false, "record who deleted which object")
	pflag.BoolVar(&setup.Rollouts, "record-rollouts", false, "record who changed the Pod template of which workload")
	pflag.BoolVar(&setup.PublicScope, "public-scope", false, "publish what is tracked, and since when, in the ConfigMap k8sconnect-history in kube-public")
	pflag.Float64Var(&setup.RecordsPerSecond, "records-per-second", 10, "maximum rate of ownership records, for all replicas together, after an initial burst of 500")
	pflag.TextVar(&level, "log-level", &level, "debug, info, warn or error")
	version := pflag.Bool("version", false, "print the version and exit")
	pflag.Parse()
	this := build.This()
	if *version {
		_, err := fmt.Fprintf(os.Stdout, "%s (%s)\n", this.Version, this.Go)
		return err
	}
	if opts.Namespace == "" {
		return errors.New("--namespace is required")
	}
	opts.Lease = setup.Service
	for _, kind := range *kinds {
		setup.ExcludeKinds = append(setup.ExcludeKinds, schema.ParseGroupKind(kind))
	}
	if *transitions {
		setup.Transitions = os.Stdout
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	config.UserAgent = fmt.Sprintf("k8sconnect-webhook/%s (%s/%s)", strings.Trim(this.Version, "()"), runtime.GOOS, runtime.GOARCH)
	parts, err := webhook.NewParts(config, opts, setup)
	if err != nil {
		return err
	}
	server, err := webhook.New(config, opts, parts)
	if err != nil {
		return err
	}
	return server.Start(ctrl.SetupSignalHandler())
}

// logTo is for main only, because controller-runtime has one logger per process.
func logTo(file *os.File, level slog.Leveler) logr.Logger {
	logger := slog.New(conflictsAsInfo{slog.NewJSONHandler(file, &slog.HandlerOptions{Level: level})})
	log := logr.FromSlogHandler(logger.Handler())
	klog.SetSlogLogger(logger)
	stdlog.SetFlags(0)
	stdlog.SetOutput(admission.Strays(log))
	ctrl.SetLogger(log)
	return log
}
