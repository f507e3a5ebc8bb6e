package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

func TestReport(t *testing.T) {
	c := cell{sample: lab.Sample{Title: "1,000 ConfigMaps"}, kind: "ConfigMap", count: 1000, rtt: 20 * time.Millisecond}
	took := func(seconds float64) lab.Measured {
		return lab.Measured{
			Usage:    lab.Usage{Seconds: seconds, CPUSeconds: 0.5, PeakBytes: 90e6},
			Requests: 1003, Sent: 1234567, Received: 4000,
		}
	}
	r := newResults()
	for _, seconds := range []float64{0.5, 9, 0.4} { // the median, not the mean
		r.add(c, workAgain, toolPlugin, 0, took(seconds))
	}
	r.add(c, workAgain, toolKubectl, 0, took(26))
	r.add(c, workAgain, toolPatch, 32, took(1.25))
	r.note("kubectl: no %s", "time")
	r.note("kubectl: no %s", "time")
	r.Failures = []string{"kubectl: wrong"}

	var out bytes.Buffer
	r.report(&out)
	for _, want := range []string{
		"### 1,000 ConfigMaps\n",
		"| again | 20 ms | k8sconnect | 0.50 | 3 | 52.0× | 0.40× | 1,003 | 1,234 | 4 | 90 | 0.50 |\n",
		"| again | 20 ms | kubectl | 26.0 | 1 | 1.00× | 20.8× | 1,003 | 1,234 | 4 | 90 | 0.50 |\n",
		"| again | 20 ms | raw PATCH ×32 | 1.25 | 1 | 20.8× | 1.00× | 1,003 | 1,234 | 4 | 90 | 0.50 |\n",
		"| 1,000 ConfigMaps, 20 ms, again | ≤ 0.77 s | 0.50 s | reached |\n",
		"| 1,000 ConfigMaps, 20 ms, again, kubectl takes | ≥ 40× | 52.0× | reached |\n",
		"- kubectl: no time\n",
		"- kubectl: wrong\n",
	} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("not once: %q", want)
		}
	}
	if strings.Contains(out.String(), "10 changed") {
		t.Error("a target is judged that was not measured")
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

func TestTargetMissed(t *testing.T) {
	c := cell{sample: lab.Sample{Title: "1,000 Deployments"}}
	r := newResults()
	r.Startup = &startup{Bytes: 51_750_000, CPU: []float64{0.040, 0.010, 0.025}, Local: []float64{0.035}}
	r.add(c, workCreate, toolPlugin, 0, lab.Measured{Usage: lab.Usage{Seconds: 3, PeakBytes: 150e6}})
	r.add(c, workCreate, toolPatch, 8, lab.Measured{Usage: lab.Usage{Seconds: 2}})
	var out bytes.Buffer
	r.targets(&out)
	for _, want := range []string{
		"| the program's size | ≤ 47 MB | 51.8 MB | **missed** |\n",
		"| version --client, user and system time | ≤ 30 ms | 25.0 ms | reached |\n",
		"| 1,000 Deployments, 0 ms, create, of the limit | ≤ 1.3× | 1.50× | **missed** |\n",
		"| 1,000 Deployments, create, memory | ≤ 120 MB | 150 MB | **missed** |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("missing %q in:\n%s", want, out.String())
		}
	}
}

func TestTargetsOfSetsAndOfManyKinds(t *testing.T) {
	r := newResults()
	r.Startup = &startup{Bytes: 1, CPU: []float64{0.01}, Help: []float64{0.06}}
	took := func(seconds float64) lab.Measured { return lab.Measured{Usage: lab.Usage{Seconds: seconds}} }
	argo := cell{sample: lab.Sample{Title: "argocd (59 objects)"}, rtt: 20 * time.Millisecond}
	r.add(argo, workCreate, toolPlugin, 0, took(1.3))
	r.add(argo, workCreate, toolPatch, 32, took(1))
	r.add(argo, workAgain, toolPlugin, 0, took(0.7))
	r.add(argo, workAgain, toolLook, 32, took(0.5))
	for kinds, seconds := range map[int]float64{0: 0.1, crowd: 0.5} {
		r.add(cell{sample: lab.Sample{Title: crowdTitle(kinds)}}, workDiff, toolPlugin, 0, took(seconds))
	}
	var out bytes.Buffer
	r.targets(&out)
	for _, want := range []string{
		"| argocd, 20 ms, create, of the raw PATCHes | ≤ 1.2× | 1.30× | **missed** |\n",
		"| argocd, 20 ms, again, of the LISTs | ≤ 1.5× | 1.40× | reached |\n",
		"| what 1,000 more kinds cost, 0 ms, diff | ≤ 300 ms | 400 ms | **missed** |\n",
		"| --help, user and system time | ≤ 30 ms | 60.0 ms | **missed** |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("missing %q in:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "argocd, 0 ms") {
		t.Error("a target is judged that was not measured")
	}
}

// A run that was kept can be told again, to the letter.
func TestAnEarlierRun(t *testing.T) {
	r := measuredGrowth()
	r.Startup = &startup{Bytes: 1, CPU: []float64{0.01}, Help: []float64{0.06}}
	r.Failures = []string{"raw: wrong"}
	path := filepath.Join(t.TempDir(), "run.json")
	if err := r.write(path); err != nil {
		t.Fatal(err)
	}
	again, err := readResults(path)
	if err != nil {
		t.Fatal(err)
	}
	var before, after bytes.Buffer
	r.report(&before)
	again.report(&after)
	if before.String() != after.String() || !strings.Contains(after.String(), "raw: wrong") {
		t.Errorf("got  %s\nwant %s", after.String(), before.String())
	}
}
