// Command companion runs a real control plane with a node and two replicas of the webhook, for anyone
// who wants to look at it. It prints the export line of a kubeconfig, writes what the webhook says to
// webhook.log, and ends everything on Ctrl-C.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil && ctx.Err() == nil { // a signal is the normal end
		fmt.Fprintln(os.Stderr, "companion:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	file, err := os.Create("webhook.log")
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	c, err := cluster.Start(ctx, cluster.Options{Nodes: 1, Controllers: true})
	if err != nil {
		return err
	}
	defer c.Stop()
	w, err := companion.Install(ctx, c, companion.Options{Log: file})
	if err != nil {
		return err
	}
	defer w.Close()
	for range 2 {
		r, err := w.Start(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "metrics of a replica: http://"+r.MetricsAddress()+"/metrics")
	}
	fmt.Println("export KUBECONFIG=" + c.KubeconfigPath)
	<-ctx.Done()
	return nil
}
