package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

// options are what to measure, and how often.
type options struct {
	webhook, helm, chart string
	rounds               int    // each setup and work is measured so often
	writes               int    // in a round, one after the other, and again side by side
	writers              int    // side by side
	tracked              int    // objects, for the tracker's memory
	pages                string // folder of the page to write the results into
	log                  io.Writer
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("admission", flag.ContinueOnError)
	short := flags.Bool("short", false, "little of everything, once")
	flags.StringVar(&o.webhook, "webhook", "bin/webhook", "the webhook's `program`")
	flags.StringVar(&o.helm, "helm", "bin/helm", "helm's `program`")
	flags.StringVar(&o.chart, "chart", "charts/k8sconnect", "the chart's `folder`")
	flags.StringVar(&o.pages, "pages", "", "`folder` of the page to write the results into: docs")
	flags.IntVar(&o.rounds, "n", 3, "`times` that each row is measured")
	flags.IntVar(&o.writes, "writes", 1000, "`number` of writes in a row")
	flags.IntVar(&o.writers, "writers", 8, "`number` of writers side by side")
	flags.IntVar(&o.tracked, "tracked", 100_000, "`number` of objects for the tracker's memory; 0 leaves it out")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if *short {
		o.rounds, o.writes, o.tracked = 1, 50, 1000
	}
	for name, n := range map[string]int{"-n": o.rounds, "-writes": o.writes, "-writers": o.writers} {
		if n < 1 {
			return o, fmt.Errorf("%s: %d is not 1 or more", name, n)
		}
	}
	for name, path := range map[string]string{"-webhook": o.webhook, "-helm": o.helm, "-chart": o.chart} {
		if _, err := os.Stat(path); err != nil {
			return o, fmt.Errorf("%s: %w", name, err)
		}
	}
	return o, nil
}
