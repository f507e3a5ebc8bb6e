package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// summary is what a reader takes away: the plugin's seconds, how far that is from the
// limit, and what kubectl takes; and which targets were missed.
func (r *results) summary(out io.Writer) {
	near, far := time.Duration(0), 100*time.Millisecond
	fmt.Fprint(out, "\n| | | 0 ms | of the limit | kubectl takes | 100 ms | of the limit | kubectl takes |\n| --- | --- | --: | --: | --: | --: | --: | --: |\n")
	samples := []string{"1,000 ConfigMaps", "1,000 Deployments"}
	for _, set := range lab.RealSets() {
		samples = append(samples, r.sampleOf(set))
	}
	for _, sample := range samples {
		for _, work := range []string{workCreate, workAgain, workDiff, workWait, workDelete} {
			at := append(r.standing(sample, work, near), r.standing(sample, work, far)...)
			if strings.Join(at, "") != strings.Repeat("–", len(at)) {
				fmt.Fprintf(out, "| %s | %s | %s |\n", sample, work, strings.Join(at, " | "))
			}
		}
	}
	var missed []string
	judged := 0
	for _, t := range r.allTargets() {
		if math.IsNaN(t.measured) {
			continue
		}
		judged++
		if !t.reached() {
			missed = append(missed, t.what+": "+decimal(t.measured)+t.unit+", not "+t.bounded())
		}
	}
	fmt.Fprintf(out, "\n%d of %d targets are reached.\n", judged-len(missed), judged)
	if len(missed) > 0 {
		fmt.Fprintf(out, "\nMissed:\n\n- %s\n", strings.Join(missed, "\n- "))
	}
}

// standing are the plugin's seconds, their ratio to the limit, and kubectl's to them.
func (r *results) standing(sample, work string, rtt time.Duration) []string {
	took := func(tool string) float64 { return r.find(sample, work, tool, rtt).median(seconds) }
	limit := took(toolPatch)
	if work == workAgain || work == workDiff || work == workWait {
		limit = took(toolLook)
	}
	ours := took(toolPlugin)
	shown := decimal(ours)
	if !math.IsNaN(ours) {
		shown += " s"
	}
	return []string{shown, ratio(ours / limit), ratio(took(toolKubectl) / ours)}
}
