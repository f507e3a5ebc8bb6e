// Command kubectl-k8sconnect is a kubectl plugin for safe server-side apply.
package main

import (
	"context"
	"os"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
)

func main() {
	_, _ = memlimit.Set()
	ctx := cli.UntilStopped(context.Background())
	os.Exit(cli.Main(ctx, os.Args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
}
