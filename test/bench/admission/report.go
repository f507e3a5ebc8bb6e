package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// ask takes from our webhook what only it knows.
func (r *results) ask(ctx context.Context, l *lab) error {
	const name = "k8sconnect_admission_duration_seconds"
	all, err := l.replica.Metric(ctx, name+"_count", `webhook="ownership"`)
	if err != nil {
		return err
	}
	r.handler = 0
	for _, bound := range []string{"0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.5", "2"} {
		within, err := l.replica.Metric(ctx, name+"_bucket", `webhook="ownership"`, `le="`+bound+`"`)
		if err != nil {
			return err
		}
		if within >= .99*all {
			r.handler, err = time.ParseDuration(bound + "s")
			if err != nil {
				return err
			}
			break
		}
	}
	if all == 0 {
		r.wrong("our webhook judged no change of owners")
	}
	return nil
}

// report prints the results as Markdown.
func (r *results) report(out io.Writer) {
	fmt.Fprintf(out, "Measured on %s, %d CPUs that the API servers, the webhooks and the writers share; it took %s.\n",
		r.started.UTC().Format(time.DateOnly), runtime.NumCPU(), time.Since(r.started).Round(time.Second))
	fmt.Fprint(out, "\n| write of a 20 kB Deployment | setup | writes/s | of no webhook | of a webhook that does nothing | p50 | p99 | p99 of no webhook | CPU ms of the API server | of no webhook | calls a write |\n")
	fmt.Fprint(out, "| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n")
	for _, work := range allWorks() {
		none, limit := r.row(setupNone, work), r.row(setupNothing, work)
		for _, setup := range allSetups() {
			one := r.row(setup, work)
			if len(one.p50) == 0 {
				continue
			}
			cells := []string{
				work, setup,
				fmt.Sprintf("%.0f", median(one.perSecond)),
				ratio(median(one.perSecond), median(none.perSecond)), ratio(median(one.perSecond), median(limit.perSecond)),
				millis(median(one.p50)), millis(median(one.p99)),
				ratio(float64(median(one.p99)), float64(median(none.p99))),
				fmt.Sprintf("%.2f", median(one.cpu)), ratio(median(one.cpu), median(none.cpu)),
				fmt.Sprintf("%.2f", one.calls),
			}
			fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
		}
	}
	r.targets(out)
	if r.handler > 0 {
		fmt.Fprintf(out, "\n99 of 100 judgements of a change of owners took our webhook at most %s, by its own count.\n", r.handler)
	}
	if m := r.memory; m.objects > 0 {
		fmt.Fprintf(out, "\nThe tracker remembers %.0f objects, %d of them generated: %d MB of resident memory, %d MB at most, ready after %s.\n",
			m.tracked, m.objects, m.after>>20, m.peak>>20, m.start.Round(100*time.Millisecond))
	}
	if len(r.failures) > 0 {
		fmt.Fprint(out, "\nWrong:\n\n- "+strings.Join(r.failures, "\n- ")+"\n")
	}
}

// mostOfNone bounds what a write without a call costs the API server, of what it costs
// without a webhook. It is CPU time, which another program on the machine does not change.
const mostOfNone = 1.05

func (r *results) targets(out io.Writer) {
	fmt.Fprint(out, "\n| target | bound | measured | |\n| --- | --: | --: | --- |\n")
	for _, work := range []string{workSame, workCreate} {
		measured := median(r.row(setupOurs, work).cpu) / median(r.row(setupNone, work).cpu)
		verdict := "reached"
		if !(measured <= mostOfNone) {
			verdict = "**missed**"
		}
		fmt.Fprintf(out, "| %s, the API server's CPU time, of no webhook | ≤ %.2f | %.2f | %s |\n", work, mostOfNone, measured, verdict)
		least := median(r.row(setupFalse, work).cpu) / median(r.row(setupNone, work).cpu)
		fmt.Fprintf(out, "| the least of that: the condition false | | %.2f | |\n", least)
	}
}

func median[T float64 | time.Duration](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

func ratio(a, b float64) string {
	if b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", a/b)
}
