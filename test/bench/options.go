package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// options are what to measure, and how often.
type options struct {
	plugin      string // program
	flux, helm  string // programs
	peers       bool   // compare the plugin with other tools, and nothing with the limit
	json        string // file for the results
	from        string // file of an earlier run's results
	short       bool
	works       []string
	kinds       []string
	counts      []int
	rtts        []time.Duration
	sets        []string
	tools       []string // contenders; all if empty
	repetitions int
	// survey: measure stuck objects, too, and stalled: objects that hang during a wait.
	survey, stalled bool
	// crowded: measure one object on a server with many kinds, too.
	crowded bool
	// growth: measure how the plugin's cost grows with the number of objects.
	growth bool
	pages  string // folder of the pages to write the results into
	// all: include measurements that show nothing new.
	all bool
	// setRepetitions is for real sets: each takes a control plane of its own.
	setRepetitions int
	budget         time.Duration
	patience       time.Duration
}

const intro = `usage: bench [flags]

Measures the plugin beside kubectl and the raw limit, and prints Markdown.
Exit status: 0; 1 if a tool did something wrong; 2 if it could not measure.

`

// parse reads the command line. Naming kinds or counts leaves the real sets out,
// and the other way round.
func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), intro)
		flags.PrintDefaults()
	}
	flags.BoolVar(&o.short, "short", false, "a few small cells, once each, and without kubectl but beside peers; the raw client's workers are not tuned")
	flags.StringVar(&o.plugin, "plugin", "bin/kubectl-k8sconnect", "the plugin's `program`")
	flags.BoolVar(&o.growth, "growth", false, "measure the plugin and the limit on 100 to 100,000 ConfigMaps, without a network")
	flags.StringVar(&o.pages, "pages", "", "`folder` of the pages to write the results into: docs")
	flags.BoolVar(&o.peers, "peers", false, "compare the plugin with kubectl, Flux and Helm: two real sets, and 1,000 objects, with and without a network; kube-prometheus is no chart that fits Helm")
	flags.StringVar(&o.flux, "flux", "bin/peers", "Flux's `program`: the module in test/bench/peers")
	flags.StringVar(&o.helm, "helm", "bin/helm", "Helm's `program`")
	flags.StringVar(&o.json, "json", "", "`file` to write the results into as JSON, with every single run")
	flags.StringVar(&o.from, "from", "", "`file` that -json wrote: report that run, and measure nothing")
	flags.IntVar(&o.repetitions, "n", 3, "`times` that each row is measured; real sets once, unless this says otherwise")
	flags.DurationVar(&o.budget, "budget", 30*time.Second, "a tool that has taken so long in a cell is not measured again there")
	flags.DurationVar(&o.patience, "patience", 45*time.Minute, "kubectl is left out once the run has taken so long")
	flags.BoolVar(&o.all, "all", false, "leave out no row because kubectl takes minutes for it")
	works := flags.String("work", strings.Join(allWorks(), ","), "`list` of works")
	tools := flags.String("tools", "k8sconnect,kubectl,raw", "`list` of tools")
	kinds := flags.String("kind", strings.Join(lab.GeneratedKinds(), ","), "`list` of kinds of generated objects")
	counts := flags.String("count", "1000,100,1,10000", "`list` of numbers of generated objects")
	rtts := flags.String("rtt", "0s,20ms,100ms", "`list` of round-trip times to add")
	sets := flags.String("set", strings.Join(lab.RealSets(), ","), "`list` of sets of the corpus, or none")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	o.setRepetitions = 1
	if given["n"] {
		o.setRepetitions = o.repetitions
	}
	preset := func(name string, value *string, to string) {
		if !given[name] {
			*value = to
		}
	}
	if o.growth {
		preset("kind", kinds, "ConfigMap")
		preset("count", counts, growthCountList())
		preset("rtt", rtts, "0s")
		preset("set", sets, "none")
		preset("tools", tools, "k8sconnect,raw")
		preset("work", works, strings.Join(growthWorks(), ","))
	}
	if o.peers {
		preset("tools", tools, "k8sconnect,kubectl,flux,helm")
		preset("work", works, strings.Join(peerWorks(), ","))
		preset("count", counts, "1000")
		preset("rtt", rtts, "0s,100ms")
		preset("set", sets, "argocd,rook")
		o.all, o.setRepetitions = true, o.repetitions
		if !given["patience"] {
			o.patience = 12 * time.Hour
		}
	}
	if o.short {
		if !o.peers { // Those measure kubectl as well, which takes a minute for a hundred objects.
			preset("tools", tools, "k8sconnect,raw")
		}
		preset("count", counts, map[bool]string{true: "20", false: "1,100"}[o.peers])
		preset("rtt", rtts, "0s")
		preset("set", sets, "microservices-demo")
		if !given["n"] {
			o.repetitions, o.setRepetitions = 1, 1
		}
	} else if given["kind"] || given["count"] {
		preset("set", sets, "none")
	} else if given["set"] {
		preset("count", counts, "")
	}
	var err error
	o.works, o.kinds, o.tools, o.sets = list(*works), list(*kinds), list(*tools), list(*sets)
	// If works or samples are named, only they are measured.
	named := !o.growth && given["work"] || !o.growth && !o.peers && !given["kind"] && !given["count"] && !given["set"]
	o.survey, o.stalled = named && slices.Contains(o.works, workStuck), named && slices.Contains(o.works, workStalled)
	o.crowded = named && slices.Contains(o.works, workCrowd)
	if slices.Equal(o.sets, []string{"none"}) {
		o.sets = nil
	}
	if o.counts, err = parsed(*counts, strconv.Atoi); err != nil {
		return o, fmt.Errorf("-count: %w", err)
	}
	if o.rtts, err = parsed(*rtts, time.ParseDuration); err != nil {
		return o, fmt.Errorf("-rtt: %w", err)
	}
	if o.from != "" {
		return o, nil
	}
	return o, o.check()
}

// check refuses what cannot be measured.
func (o options) check() error {
	for _, choice := range []struct {
		flag         string
		given, known []string
	}{
		{"-work", o.works, allWorks()},
		{"-kind", o.kinds, lab.GeneratedKinds()},
		{"-tools", o.tools, allTools()},
	} {
		for _, value := range choice.given {
			if !slices.Contains(choice.known, value) {
				return fmt.Errorf("%s: no %q; there are %s", choice.flag, value, strings.Join(choice.known, ", "))
			}
		}
	}
	for _, count := range o.counts {
		if count < 1 || count > largest {
			return fmt.Errorf("-count: %d is not between 1 and %d", count, largest)
		}
	}
	for _, rtt := range o.rtts {
		if rtt < 0 || rtt > time.Second {
			return fmt.Errorf("-rtt: %s is not between 0 and a second", rtt)
		}
	}
	if o.repetitions < 1 {
		return fmt.Errorf("-n: %d is not 1 or more", o.repetitions)
	}
	for _, program := range []struct{ tool, flag, path, hint string }{
		{"k8sconnect", "-plugin", o.plugin, "make build builds it"},
		{"flux", "-flux", o.flux, "make bench-peers builds it"},
		{"helm", "-helm", o.helm, "make bin/helm builds it"},
	} {
		if !slices.Contains(o.tools, program.tool) {
			continue
		}
		if _, err := os.Stat(program.path); err != nil {
			return fmt.Errorf("%s: %w; %s", program.flag, err, program.hint)
		}
	}
	return nil
}

func list(text string) []string {
	return slices.DeleteFunc(strings.Split(text, ","), func(s string) bool { return s == "" })
}

func parsed[T any](text string, parse func(string) (T, error)) ([]T, error) {
	var values []T
	for _, one := range list(text) {
		value, err := parse(one)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}
