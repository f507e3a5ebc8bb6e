// Command bench measures the plugin beside kubectl, other tools and the raw limit, in one
// interleaved run on one machine, so that the ratios mean something where the seconds do
// not:
//
//	bench -count 1000 -kind ConfigMap -rtt 100ms -work again
//
// It starts a control plane without controllers, puts a network with added round-trip time
// in front of it, gives each tool a user of its own, so that the audit log counts its
// requests, and checks the outcome of every run. A wrong outcome makes it exit with 1; a
// slow one never does. The table goes to stdout as Markdown.
//
// It measures no cluster of yours, and nothing that leaves loopback.
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
	"strings"
	"syscall"
	"time"
)

// The program is its own helper, under these verbs.
const (
	verbLaunch = "launch" // LOG PROGRAM [ARG…]
	verbRaw    = "raw"    // FILE
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
	// The table is printed, even if the bench could not continue.
	err = b.run(ctx, cells)
	b.results.report(os.Stdout)
	if err == nil && len(b.results.failures) > 0 {
		err = errWrong
	}
	return err
}

// options are what to measure, and how often.
type options struct {
	plugin, flux, helm string // programs
	works, kinds       []string
	tools, sets        []string
	counts             []int
	rtts               []time.Duration
	n, setN            int
}

const intro = `usage: bench [flags]

Measures the plugin beside kubectl and the raw limit, and prints Markdown. -kind or -count
without -set leaves the real sets out, and -set without them the generated objects.
Exit status: 0; 1 if a tool did something wrong; 2 if it could not measure.

`

// parse reads the command line: -peers and -short say what the lists are by default.
func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), intro)
		flags.PrintDefaults()
	}
	short := flags.Bool("short", false, "a few small samples, once each: right or wrong only")
	peers := flags.Bool("peers", false, "compare with kubectl, Flux and Helm, and not with the limit")
	flags.StringVar(&o.plugin, "plugin", "bin/kubectl-k8sconnect", "the plugin's `program`")
	flags.StringVar(&o.flux, "flux", "bin/peers", "Flux's `program`: the module in test/bench/peers")
	flags.StringVar(&o.helm, "helm", "bin/helm", "Helm's `program`")
	flags.IntVar(&o.n, "n", 3, "`times` that each row is measured; real sets once, unless this says otherwise")
	texts := map[string]*string{}
	for name, what := range map[string]string{
		"work": "works", "tools": "tools", "kind": "kinds of generated objects", "count": "numbers of generated objects",
		"rtt": "round-trip times to add", "set": "sets of the corpus, or none",
	} {
		texts[name] = flags.String(name, "", "`list` of "+what)
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	preset := map[string]string{
		"work": strings.Join(allWorks(), ","), "kind": strings.Join(generatedKinds(), ","), "tools": "k8sconnect,kubectl,raw",
		"count": "1000,100,1,10000,100000", "rtt": "0s,20ms,100ms", "set": strings.Join(realSets(), ","),
	}
	if *peers {
		preset["tools"], preset["count"], preset["rtt"], preset["set"] = "k8sconnect,kubectl,flux,helm", "1000", "0s,100ms", "argocd,rook"
	}
	o.setN = 1
	if given["n"] {
		o.setN = o.n
	}
	switch {
	case *short:
		preset["rtt"], preset["set"], preset["count"] = "0s", "microservices-demo", "20"
		if !*peers { // kubectl takes a minute for a hundred objects.
			preset["tools"], preset["count"] = "k8sconnect,raw", "1,100"
		}
		o.n = o.setN
	case given["kind"] || given["count"]:
		preset["set"] = "none"
	case given["set"] && *texts["set"] != "none":
		preset["count"] = ""
	}
	list := func(name string, known ...string) []string {
		text := preset[name]
		if given[name] {
			text = *texts[name]
		}
		all := slices.DeleteFunc(strings.Split(text, ","), func(s string) bool { return s == "" || s == "none" })
		for _, value := range all {
			if len(known) > 0 && !slices.Contains(known, value) {
				err = errors.Join(err, fmt.Errorf("-%s: no %q; there are %s", name, value, strings.Join(known, ", ")))
			}
		}
		return all
	}
	o.works, o.kinds = list("work", allWorks()...), list("kind", generatedKinds()...)
	o.tools, o.sets = list("tools", toolPlugin, toolKubectl, toolRaw, toolFlux, toolHelm), list("set", realSets()...)
	for _, text := range list("count") {
		count, countErr := strconv.Atoi(text)
		if countErr == nil && (count < 1 || count > largest) {
			countErr = fmt.Errorf("-count: %d is not between 1 and %d", count, largest)
		}
		err, o.counts = errors.Join(err, countErr), append(o.counts, count)
	}
	for _, text := range list("rtt") {
		rtt, rttErr := time.ParseDuration(text)
		if rttErr == nil && (rtt < 0 || rtt > time.Second) {
			rttErr = fmt.Errorf("-rtt: %s is not between 0 and a second", rtt)
		}
		err, o.rtts = errors.Join(err, rttErr), append(o.rtts, rtt)
	}
	if o.n < 1 {
		err = errors.Join(err, fmt.Errorf("-n: %d is not 1 or more", o.n))
	}
	for tool, program := range map[string]string{toolPlugin: o.plugin, toolFlux: o.flux, toolHelm: o.helm} {
		if _, statErr := os.Stat(program); statErr != nil && slices.Contains(o.tools, tool) {
			err = errors.Join(err, fmt.Errorf("%s: %w; make build bin/helm bin/peers builds what there is", tool, statErr))
		}
	}
	return o, err
}
