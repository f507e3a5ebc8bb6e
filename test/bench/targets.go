package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// target is a bound that the plugin should keep.
type target struct {
	what     string
	measured float64
	bound    float64
	unit     string
	atLeast  bool // otherwise at most
}

func (t target) reached() bool {
	if t.atLeast {
		return t.measured >= t.bound
	}
	return t.measured <= t.bound
}

// targets prints which targets are reached, of those that were measured.
func (r *results) targets(out io.Writer) {
	const head = "\n### Targets\n\n| target | bound | measured | |\n| --- | --: | --: | --- |\n"
	started := false
	for _, t := range r.allTargets() {
		if math.IsNaN(t.measured) {
			continue
		}
		if !started {
			started = true
			fmt.Fprint(out, head)
		}
		verdict := "reached"
		if !t.reached() {
			verdict = "**missed**"
		}
		fmt.Fprintf(out, "| %s | %s | %s%s | %s |\n", t.what, t.bounded(), decimal(t.measured), t.unit, verdict)
	}
}

// bounded is the bound as it is shown.
func (t target) bounded() string {
	if t.atLeast {
		return "≥ " + plain(t.bound) + t.unit
	}
	return "≤ " + plain(t.bound) + t.unit
}

func plain(f float64) string { return fmt.Sprintf("%v", f) }

func (r *results) allTargets() []target {
	all := r.Startup.targets()
	for _, kind := range lab.GeneratedKinds() {
		all = append(all, r.speedTargets(kind)...)
		for _, size := range []struct {
			sample string
			bound  float64
		}{{"1,000 " + kind + "s", 120}, {"10,000 " + kind + "s", 400}} {
			for _, work := range []string{workCreate, workAgain} {
				row := r.find(size.sample, work, toolPlugin, 0)
				all = append(all, target{what: size.sample + ", " + work + ", memory", measured: row.median(peakMB), bound: size.bound, unit: " MB"})
			}
		}
	}
	for _, kind := range lab.GeneratedKinds() {
		most := 10.0
		if kind == "Deployment" {
			most += 2 * 10 // At the end it says which images the Pods of ten of them run.
		}
		waits := r.find("10,000 "+kind+"s", workWait, toolPlugin, 0)
		all = append(all,
			target{what: "10,000 " + kind + "s, wait, memory", measured: waits.median(peakMB), bound: 250, unit: " MB"},
			target{what: "1,000 " + kind + "s, wait, requests", measured: r.find("1,000 "+kind+"s", workWait, toolPlugin, 0).median(requests), bound: most},
		)
	}
	ready := r.find("200 Deployments", workReady, toolPlugin, 0).median(seconds) * 1000
	all = append(all, target{what: "200 Deployments, from the last that becomes ready to the end of the wait", measured: ready, bound: 100, unit: " ms"})
	all = append(all, r.stuckTargets()...)
	all = append(all, r.setTargets()...)
	all = append(all, r.crowdTargets()...)
	all = append(all, r.growthTargets()...)
	start := r.find("1 ConfigMap", workDryRun, toolPlugin, 0).median(cpuSeconds) * 1000
	return append(all, target{what: "dry run of 1 unchanged ConfigMap, user and system time", measured: start, bound: 40, unit: " ms"})
}

// setTargets are those on real sets, of what the raw client takes in the same order and
// with the same waits.
func (r *results) setTargets() []target {
	var all []target
	for _, set := range []string{"argocd", "kube-prometheus", "rook", "metallb"} {
		sample := r.sampleOf(set)
		for _, at := range []struct {
			rtt  time.Duration
			look float64
		}{{0, 2.5}, {20 * time.Millisecond, 1.5}, {100 * time.Millisecond, 1.5}} {
			took := func(work, tool string) float64 { return r.find(sample, work, tool, at.rtt).median(seconds) }
			where := fmt.Sprintf("%s, %d ms, ", set, at.rtt.Milliseconds())
			all = append(all,
				target{what: where + "create, of the raw PATCHes", measured: took(workCreate, toolPlugin) / took(workCreate, toolPatch), bound: 1.2, unit: "×"},
				target{what: where + "again, of the LISTs", measured: took(workAgain, toolPlugin) / took(workAgain, toolLook), bound: at.look, unit: "×"},
				target{what: where + "diff, of the LISTs", measured: took(workDiff, toolPlugin) / took(workDiff, toolLook), bound: at.look, unit: "×"},
				target{what: where + "delete, of the raw DELETEs", measured: took(workDelete, toolPlugin) / took(workDelete, toolPatch), bound: 1.2, unit: "×"},
			)
		}
	}
	return all
}

// sampleOf is the title of a set's sample, which says how many objects it has.
func (r *results) sampleOf(set string) string {
	for _, row := range r.Rows {
		if strings.HasPrefix(row.Sample, set+" (") {
			return row.Sample
		}
	}
	return set
}

// crowdTargets are how much longer the plugin takes for one object where the server
// serves many more kinds.
func (r *results) crowdTargets() []target {
	var all []target
	for _, rtt := range r.rtts(crowdTitle(crowd)) {
		for _, work := range crowdWorks() {
			more := r.find(crowdTitle(crowd), work, toolPlugin, rtt).median(seconds) - r.find(crowdTitle(0), work, toolPlugin, rtt).median(seconds)
			what := fmt.Sprintf("what 1,000 more kinds cost, %d ms, %s", rtt.Milliseconds(), work)
			all = append(all, target{what: what, measured: more * 1000, bound: 300, unit: " ms"})
		}
	}
	return all
}

// stuckTargets are those of saying what holds objects that do not go: by the number
// of kinds, not of objects.
func (r *results) stuckTargets() []target {
	sample := lab.StuckTitle(lab.StuckKinds, lab.StuckEach)
	var all []target
	for _, rtt := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond} {
		row := r.find(sample, workStuck, toolPlugin, rtt)
		where := fmt.Sprintf("%s, %d ms, stuck", sample, rtt.Milliseconds())
		all = append(all,
			target{what: where, measured: row.median(seconds), bound: 3, unit: " s"},
			target{what: where + ", requests", measured: row.median(requests), bound: 150},
		)
	}
	return all
}

// speedTargets are those on 1,000 objects. The seconds are a third of what the
// fastest other tool, kapp, took on another two-core machine.
func (r *results) speedTargets(kind string) []target {
	sample := "1,000 " + kind + "s"
	var all []target
	for _, at := range []struct {
		rtt                     time.Duration
		again, diff, timesAgain float64
	}{
		{0, 0.47, 0.53, 10},
		{20 * time.Millisecond, 0.77, 0.6, 40},
		{100 * time.Millisecond, 1.27, 1.53, 100},
	} {
		took := func(work, tool string) float64 { return r.find(sample, work, tool, at.rtt).median(seconds) }
		where := fmt.Sprintf("%s, %d ms, ", sample, at.rtt.Milliseconds())
		again := took(workAgain, toolPlugin)
		all = append(all,
			target{what: where + "create, of the limit", measured: took(workCreate, toolPlugin) / took(workCreate, toolPatch), bound: 1.3, unit: "×"},
			target{what: where + "again", measured: again, bound: at.again, unit: " s"},
			target{what: where + "again, kubectl takes", measured: took(workAgain, toolKubectl) / again, bound: at.timesAgain, unit: "×", atLeast: true},
			target{what: where + "10 changed, of nothing changed", measured: took(workChange, toolPlugin) / again, bound: 1.5, unit: "×"},
			target{what: where + "delete, of the raw DELETEs", measured: took(workDelete, toolPlugin) / took(workDelete, toolPatch), bound: 1.2, unit: "×"},
			target{what: where + "delete, kubectl takes", measured: took(workDelete, toolKubectl) / took(workDelete, toolPlugin), bound: 60, unit: "×", atLeast: true},
			target{what: where + "wait, kubectl takes", measured: took(workWait, toolKubectl) / took(workWait, toolPlugin), bound: 150, unit: "×", atLeast: true},
			target{what: where + "diff", measured: took(workDiff, toolPlugin), bound: at.diff, unit: " s"},
		)
	}
	return all
}
