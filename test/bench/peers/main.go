// Command peers does one work on the objects of a file as Flux's controller does, with
// Flux's own library for server-side apply:
//
//	peers apply|diff|delete FILE
//
// The objects name their namespaces, as they do when a Kustomization has been built. The
// exit status is 0 if all went well, and for diff if nothing differs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/utils"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// concurrency bounds parallel requests, and patience each wait.
const (
	concurrency = 16
	patience    = 9 * time.Minute
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	works := map[string]func(context.Context, *ssa.ResourceManager, []*unstructured.Unstructured) error{
		"apply": apply, "diff": diff, "delete": remove,
	}
	if len(args) != 2 || works[args[0]] == nil {
		return errors.New("usage: peers apply|diff|delete FILE")
	}
	file, err := os.Open(args[1])
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	objects, err := utils.ReadObjects(file)
	if err != nil {
		return err
	}
	manager, err := connect()
	if err != nil {
		return err
	}
	return works[args[0]](ctx, manager, objects)
}

func connect() (*ssa.ResourceManager, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	// Flux does not throttle itself if the API server has priority and fairness.
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, err
	}
	manager := ssa.NewResourceManager(c, polling.NewStatusPoller(c, c.RESTMapper(), polling.Options{}), ssa.Owner{Field: "flux", Group: "bench.example.com"})
	manager.SetConcurrency(concurrency)
	return manager, nil
}

func apply(ctx context.Context, manager *ssa.ResourceManager, objects []*unstructured.Unstructured) error {
	options := ssa.DefaultApplyOptions()
	options.WaitTimeout = patience
	_, err := manager.ApplyAllStaged(ctx, objects, options)
	return err
}

// diff compares each object, as many in parallel as an apply does: the library has no call for
// many.
func diff(ctx context.Context, manager *ssa.ResourceManager, objects []*unstructured.Unstructured) error {
	var group errgroup.Group
	group.SetLimit(concurrency)
	for _, u := range objects {
		group.Go(func() error {
			change, _, _, err := manager.Diff(ctx, u, ssa.DefaultDiffOptions())
			if err == nil && change.Action != ssa.UnchangedAction {
				err = fmt.Errorf("%s: %s", change.Subject, change.Action)
			}
			return err
		})
	}
	return group.Wait()
}

func remove(ctx context.Context, manager *ssa.ResourceManager, objects []*unstructured.Unstructured) error {
	if _, err := manager.DeleteAll(ctx, objects, ssa.DefaultDeleteOptions()); err != nil {
		return err
	}
	wait := ssa.DefaultWaitOptions()
	wait.Timeout = patience
	return manager.WaitForTermination(objects, wait)
}
