// Command controlplane brings up a control plane on loopback for people:
//
//	controlplane up      # prints export KUBECONFIG=…
//	controlplane status
//	controlplane down
//
// A process of its own in the background holds the cluster. Everything belongs
// to the folder .cluster, or to the one that --dir names.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

const usage = `usage: controlplane build | bin | up | down | status [flags]

  build   build all missing programs
  bin     build the missing programs that --nodes needs, and print their folder, which
          also contains kubectl
  up      start a cluster in the background, unless it is running
  down    stop it, and remove its folder
  status  list the running programs

--nodes=0 needs only etcd, kube-apiserver and kubectl, which may be in the folder of
KUBEBUILDER_ASSETS.

flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		var hinter interface{ Hint() string }
		if errors.As(err, &hinter) && hinter.Hint() != "" {
			fmt.Fprintln(os.Stderr, "  "+hinter.Hint())
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("controlplane", flag.ExitOnError)
	dir := flags.String("dir", ".cluster", "folder of the cluster")
	nodes := flags.Int("nodes", 2, "number of nodes; 0 for no controllers and no nodes")
	binaries := flags.String("binaries", "", "folder of the programs; for the command's own use")
	owner := flags.Int("while", 0, "stop the cluster when the process of this number has ended")
	audit := flags.Bool("audit", true, "write the API server's audit log")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	path, err := filepath.Abs(*dir)
	if err != nil {
		return err
	}
	options := cluster.Options{Nodes: *nodes}
	if *audit {
		options.AuditLog = "audit.log"
	}
	home := home(path)
	switch verb {
	case "build":
		_, err := cluster.Build(ctx, os.Stderr)
		return err
	case "bin":
		dir, err := cluster.Provide(ctx, os.Stderr, options)
		if err == nil {
			fmt.Println(dir)
		}
		return err
	case "up":
		return home.up(ctx, options, args)
	case "hold":
		options.Binaries = *binaries
		return home.hold(whileRuns(ctx, *owner), options)
	case "down":
		return home.down(ctx)
	case "status":
		return home.status()
	default:
		flags.Usage()
		return fmt.Errorf("no command %q", verb)
	}
}
