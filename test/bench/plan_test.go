package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

func TestPlan(t *testing.T) {
	t.Setenv(lab.EnvCorpus, t.TempDir()) // none there
	tests := map[string]struct {
		args string
		want string // cells, and works
	}{
		"what is named, and no real sets": {
			args: "-kind Deployment -count 100 -rtt 20ms -work again",
			want: "100 Deployments, 20ms: again",
		},
		"memory needs no network": {
			args: "-kind ConfigMap -count 10000",
			want: "10,000 ConfigMaps, 0s: create again wait; 10,000 ConfigMaps, 0s: create a set set again prune a tenth",
		},
		"a sample of our own where there is no corpus": {
			args: "-set argocd -rtt 0s",
			want: "sample shop (48 objects), 0s: create again diff delete",
		},
		"what is stuck, and nothing else": {
			args: "-work stuck -rtt 0s -set none",
			want: "200 terminating objects of 20 kinds, 0s: stuck",
		},
		"what is stuck, in small": {
			args: "-short -work stuck -set none",
			want: "20 terminating objects of 4 kinds, 0s: stuck",
		},
		"one object on a server with many kinds": {
			args: "-short -work many_kinds -rtt 0s -set none",
			want: "1 ConfigMap beside 0 more kinds, 0s: again diff wait delete; 1 ConfigMap beside 10 more kinds, 0s: again diff wait delete",
		},
		"short": {
			args: "-short -kind ConfigMap",
			want: "1 ConfigMap, 0s: create again change dry run diff wait delete; 100 ConfigMaps, 0s: create again change diff wait delete; " +
				"100 ConfigMaps, 0s: create a set set again prune a tenth; 100 ConfigMaps, 0s: delete namespace; " +
				"sample shop (48 objects), 0s: create again diff delete",
		},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			o, err := parse(append(fields(test.args), "-tools", "raw"))
			if err != nil {
				t.Fatal(err)
			}
			cells, err := plan(t.TempDir(), o, t.Logf)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range cells {
				got = append(got, c.String()+": "+strings.Join(c.works, " "))
			}
			if got := strings.Join(got, "; "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// fields are the arguments; _ stands for a space within one.
func fields(args string) []string {
	all := strings.Fields(args)
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], "_", " ")
	}
	return all
}

func TestParseRefuses(t *testing.T) {
	for _, args := range []string{
		"-work applying", "-kind Pod", "-tools helm", "-count 0", "-count many", "-rtt 2s", "-n 0",
		"-plugin /nowhere/at/all",
	} {
		if _, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}

func TestLeftOut(t *testing.T) {
	far := 100 * time.Millisecond
	tests := map[string]struct {
		cell      cell
		contender string
		work      string
		out       bool
	}{
		"kubectl's longest":             {cell{kind: "ConfigMap", count: 1000, rtt: far}, "kubectl", workDiff, false},
		"the same of another kind":      {cell{kind: "Deployment", count: 1000, rtt: far}, "kubectl", workDiff, true},
		"what is the same work to it":   {cell{kind: "ConfigMap", count: 1000, rtt: far}, "kubectl", workChange, true},
		"but not nearer":                {cell{kind: "ConfigMap", count: 1000}, "kubectl", workChange, false},
		"the ends tell of the middle":   {cell{kind: "ConfigMap", count: 1000, rtt: far / 5}, "kubectl", workDelete, true},
		"many":                          {cell{kind: "ConfigMap", count: large}, "kubectl", workCreate, true},
		"the plugin leaves nothing out": {cell{kind: "Deployment", count: large, rtt: far}, "k8sconnect", workDiff, false},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			if why := leftOut(test.cell, test.contender, test.work); (why != "") != test.out {
				t.Errorf("left out: %q", why)
			}
		})
	}
}

// However far away the server is, the same is measured on the same cluster.
func TestPlanOfAllDistances(t *testing.T) {
	t.Setenv(lab.EnvCorpus, t.TempDir()) // none there
	o, err := parse(fields("-count 1000 -tools raw"))
	if err != nil {
		t.Fatal(err)
	}
	cells, err := plan(t.TempDir(), o, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	at := map[time.Duration][]string{}
	for _, c := range cells {
		is := c
		is.rtt = 0
		at[c.rtt] = append(at[c.rtt], fmt.Sprint(is.String(), " controllers ", is.controllers, " ", is.works))
	}
	for _, rtt := range o.rtts[1:] {
		if diff := cmp.Diff(at[o.rtts[0]], at[rtt]); diff != "" {
			t.Errorf("%s: %s", rtt, diff)
		}
	}
}
