package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// The program is its own helper, under these verbs.
const (
	verbRaw = "raw" // WORKERS FILE
)

var errWrong = errors.New("a tool did something wrong")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errWrong):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) > 2 && args[0] == lab.VerbLaunch:
		return lab.Launch(ctx, args[1], args[2:])
	case len(args) == 3 && args[0] == verbRaw:
		workers, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return lab.Raw(ctx, os.Getenv("KUBECONFIG"), args[2], workers)
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	return measureAll(ctx, o)
}

// measureAll measures what the options ask for, and reports what it has, even if it could
// not continue.
func measureAll(ctx context.Context, o options) error {
	if o.from != "" {
		results, err := readResults(o.from)
		if err != nil {
			return err
		}
		return results.tell(o)
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	results := newResults()
	results.Peers, results.Growth = o.peers, o.growth
	cells, err := plan(dir, o, func(format string, args ...any) {
		results.note(format, args...)
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	})
	if err != nil {
		return err
	}
	if slices.Contains(o.tools, "k8sconnect") {
		if results.Startup, err = measureStartup(ctx, dir, o.plugin); err != nil {
			return err
		}
	}
	b := newBench(dir, o, results, os.Stderr)
	err = b.run(ctx, cells)
	results.Took = time.Since(results.Started).Seconds()
	if o.json != "" {
		err = errors.Join(err, results.write(o.json))
	}
	told := results.tell(o)
	if err != nil {
		return err
	}
	return told
}

// tell prints the results, and renews the pages. Wrong results are among the rows, so that the
// pages do not hide them.
func (r *results) tell(o options) error {
	r.report(os.Stdout)
	if o.pages != "" {
		if err := r.renew(o.pages); err != nil {
			return err
		}
	}
	if len(r.Failures) > 0 {
		return errWrong
	}
	return nil
}
