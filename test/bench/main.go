// Command bench measures the plugin beside kubectl, other tools and the raw limit, in one interleaved
// run on one machine, and prints Markdown:
//
//	bench --count 1000 --kind ConfigMap --rtt 100ms --work again
//
// It starts control planes with a network of some round-trip time in front of them, counts requests
// in the audit log, and checks the outcome of every run. A wrong outcome makes it exit with 1; a slow
// one never does. It measures nothing that leaves loopback.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

// The program also runs itself, with these verbs.
const (
	verbLaunch = "launch" // LOG PROGRAM [ARG…]
	verbRaw    = "raw"    // FILE
)

var errWrong = errors.New("wrong result")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	switch {
	case err == nil || errors.Is(err, pflag.ErrHelp):
	case errors.Is(err, errWrong):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) > 2 && args[0] == verbLaunch:
		return launch(ctx, os.Stdout, args[1], args[2:])
	case len(args) == 2 && args[0] == verbRaw:
		return sendFile(ctx, os.Getenv("KUBECONFIG"), args[1])
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := &bench{dir: dir, tools: o.chosen(), references: references{}, results: &results{started: time.Now()}, progress: os.Stderr}
	cells, err := plan(dir, o, b.results.note)
	if err != nil {
		return err
	}
	// Print the table even if the bench could not continue.
	err = b.run(ctx, cells)
	b.results.report(os.Stdout)
	if err == nil && len(b.results.failures) > 0 {
		err = errWrong
	}
	return err
}

// options select what to measure, and how often.
type options struct {
	bin                string // the folder of the programs
	works, kinds, sets []string
	tools              []string
	counts             []int
	rtts               []time.Duration
	n, setN            int
}

const intro = `usage: bench [flags]

Measures the plugin beside kubectl and the raw limit, and prints Markdown. With --kind or --count but
not --set, it skips the real sets; with --set but neither of them, the generated objects.
Exit status: 0; 1 if a tool had a wrong result; 2 if it could not measure.

`

// parse reads the command line. --peers and --short change the defaults of other flags.
func parse(args []string) (o options, err error) {
	flags := pflag.NewFlagSet("bench", pflag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, intro, flags.FlagUsages()) }
	short := flags.Bool("short", false, "measure a few small samples once, to see that results are right")
	peers := flags.Bool("peers", false, "compare with kubectl, Flux and Helm, and not with the limit")
	flags.StringVar(&o.bin, "bin", "bin", "`folder` of the plugin, Helm, and the program of test/bench/peers")
	flags.IntVarP(&o.n, "times", "n", 3, "how often each row is measured; real sets once, unless this is set")
	flags.StringSliceVar(&o.works, "work", allWorks(), "`works`")
	flags.StringSliceVar(&o.kinds, "kind", generatedKinds(), "`kinds` of generated objects")
	flags.IntSliceVar(&o.counts, "count", []int{1000, 100, 1, large, largest}, "`numbers` of generated objects")
	flags.DurationSliceVar(&o.rtts, "rtt", []time.Duration{0, 20 * time.Millisecond, far}, "round-trip `times` to add")
	flags.StringSliceVar(&o.sets, "set", sets(), "`sets` of the corpus, platform (a generated cluster), or none")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	preset := func(name string, values ...string) {
		if !flags.Changed(name) {
			err = errors.Join(err, flags.Lookup(name).Value.(pflag.SliceValue).Replace(values))
		}
	}
	o.setN = 1
	if flags.Changed("times") {
		o.setN = o.n
	}
	o.sets = slices.DeleteFunc(o.sets, func(set string) bool { return set == "none" })
	o.tools = []string{toolPlugin, toolKubectl, toolRaw}
	if *peers {
		o.tools = []string{toolPlugin, toolKubectl, toolFlux, toolHelm}
		preset("count", "1000")
		preset("rtt", "0s", "100ms")
		preset("set", "argocd", "rook")
	}
	switch {
	case *short:
		preset("rtt", "0s")
		preset("set", "microservices-demo")
		preset("count", "20")
		if !*peers { // kubectl takes a minute for a hundred objects.
			o.tools = []string{toolPlugin, toolRaw}
			preset("count", "1", "100")
		}
		o.n = o.setN
	case flags.Changed("kind") || flags.Changed("count"):
		preset("set")
	case flags.Changed("set") && len(o.sets) > 0:
		preset("count")
	}
	return o, errors.Join(err, o.check())
}

// check reports values that cannot be measured.
func (o options) check() (err error) {
	for _, list := range []struct {
		flag          string
		values, known []string
	}{{"work", o.works, allWorks()}, {"kind", o.kinds, generatedKinds()}, {"set", o.sets, sets()}} {
		for _, value := range list.values {
			if !slices.Contains(list.known, value) {
				err = errors.Join(err, fmt.Errorf("--%s: no %q; choose from %s", list.flag, value, strings.Join(list.known, ", ")))
			}
		}
	}
	if o.n < 1 || slices.ContainsFunc(o.counts, func(count int) bool { return count < 1 || count > largest }) {
		err = errors.Join(err, fmt.Errorf("--times has to be 1 or more, and --count 1 to %d", largest))
	}
	return err
}
