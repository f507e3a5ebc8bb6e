// Command admission measures what the webhook costs writers: writes a second and the time of
// a write, without a webhook and with ours, in one interleaved run on one machine, and the
// memory of the tracker over many objects.
//
// The webhook is configured as the chart configures it, and runs as the program that the
// chart runs. The tables go to stdout as Markdown. Wrong results (a refused write, a call
// where there must be none, a takeover that was not reported) make it exit with 1; slow ones
// never do.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

var errWrong = errors.New("a result was wrong")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errWrong):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "admission:", err)
		os.Exit(2)
	}
}

// options select what to measure, and how often.
type options struct {
	rounds  int // runs of each setup and work
	writes  int // in a round: first sequential, then as many in parallel
	tracked int // objects, for the tracker's memory
	log     io.Writer
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("admission", flag.ContinueOnError)
	short := flags.Bool("short", false, "little of everything, once")
	flags.IntVar(&o.rounds, "n", 3, "`times` that each row is measured")
	flags.IntVar(&o.tracked, "tracked", 100_000, "`number` of objects for the tracker's memory")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.writes = 1000
	if *short {
		o.rounds, o.writes, o.tracked = 1, 10*writers, 1000
	}
	log, err := os.CreateTemp("", "admission-*.log")
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	o.log = log
	r := &results{started: time.Now()}
	err = r.costs(ctx, o)
	if err == nil {
		err = r.remember(ctx, o)
	}
	r.report(os.Stdout)
	if err == nil && len(r.failures) > 0 {
		err = errWrong
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the output of the webhook is in", log.Name())
		return err
	}
	return os.Remove(log.Name())
}

// results contains all rows, the webhook's own figures, and the failures.
type results struct {
	started  time.Time
	rows     []*row
	own      []string
	failures []string
}

// row contains the measurements of a work in a setup: one value a round.
type row struct {
	setup, work         string
	perSecond, p50, p99 []float64 // writes a second, and their latency in ms
	cpu                 []float64 // the API server's CPU time for a write, in ms
	calls               float64   // calls of the webhook for a write
}

func (r *results) row(setup, work string) *row {
	for _, one := range r.rows {
		if one.setup == setup && one.work == work {
			return one
		}
	}
	r.rows = append(r.rows, &row{setup: setup, work: work})
	return r.rows[len(r.rows)-1]
}

func (r *results) wrong(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *results) report(out io.Writer) {
	fmt.Fprintf(out, "Measured on %s, %d CPUs that the API servers, the webhook and the writers share; it took %s.\n",
		r.started.UTC().Format(time.DateOnly), runtime.NumCPU(), time.Since(r.started).Round(time.Second))
	fmt.Fprint(out, "\n| write of a 20 kB Deployment | setup | writes/s | of no webhook | p50 ms | p99 ms | of no webhook | CPU ms of the API server | of no webhook | bound | calls a write |\n")
	fmt.Fprint(out, "| --- | --- | --: | --: | --: | --: | --: | --: | --: | --- | --: |\n")
	for _, one := range r.rows {
		none := r.row(setupNone, one.work)
		bound := ""
		if one.setup == setupOurs && one.work != workTake {
			// The webhook is not called for this write. CPU time is bounded, because other programs
			// on the machine do not affect it.
			bound = "1.05 of the CPU time"
		}
		fmt.Fprintf(out, "| %s | %s | %.0f | %.2f | %.1f | %.1f | %.2f | %.2f | %.2f | %s | %.2f |\n", one.work, one.setup,
			median(one.perSecond), median(one.perSecond)/median(none.perSecond), median(one.p50), median(one.p99), median(one.p99)/median(none.p99),
			median(one.cpu), median(one.cpu)/median(none.cpu), bound, one.calls)
	}
	for _, line := range r.own {
		fmt.Fprintf(out, "\n%s\n", line)
	}
	if len(r.failures) > 0 {
		fmt.Fprintf(out, "\nWrong:\n\n- %s\n", strings.Join(r.failures, "\n- "))
	}
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
