package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// expect fails the test unless err contains text; an empty text requires no error.
func expect(t *testing.T, err error, text string) {
	t.Helper()
	switch {
	case err == nil && text != "":
		t.Errorf("no error, want one with %q", text)
	case err != nil && (text == "" || !strings.Contains(err.Error(), text)):
		t.Errorf("got %q, want %q", err, text)
	}
}

// defaulted returns the Ref of an object that names no namespace, as in a plan.
func defaulted(u *unstructured.Unstructured) object.Ref {
	ref := object.RefOf(u)
	ref.Namespace = "default"
	return ref
}

func TestCheckWritten(t *testing.T) {
	s, err := generated(t.TempDir(), "ConfigMap", 3)
	if err != nil {
		t.Fatal(err)
	}
	at := func(versions ...string) map[object.Ref]state {
		out := map[object.Ref]state{}
		for i, v := range versions {
			out[defaulted(s.objects[i])] = state{version: v}
		}
		return out
	}
	same := at("1", "2", "3")
	tests := map[string]struct {
		work          string
		before, after map[object.Ref]state
		wrong         string
	}{
		"created":                             {workCreate, nil, same, ""},
		"not all created":                     {workCreate, nil, at("1", "2"), "there are 2 of 3 objects, not 3"},
		"nothing written":                     {workAgain, same, same, ""},
		"written without a change":            {workAgain, same, at("1", "2", "4"), "1 of 3 objects were written, not 0"},
		"gone":                                {workAgain, same, at("1", "2"), "there are 2 of 3 objects, not 3"},
		"deleted":                             {workDelete, same, nil, ""},
		"not all deleted":                     {workDelete, same, at("1"), "there are 1 of 3 objects, not 0"},
		"diff wrote":                          {workDiff, same, at("4", "5", "3"), "2 of 3 objects were written, not 0"},
		"one changed":                         {workChange, same, at("4", "2", "3"), ""},
		"all written instead of one":          {workChange, same, at("4", "5", "6"), "3 of 3 objects were written, not 1"},
		"change not written":                  {workChange, same, same, "0 of 3 objects were written, not 1"},
		"written without a change to the set": {workSetAgain, same, at("1", "2", "4"), "1 of 3 objects were written, not 0"},
		"pruned":                              {workPrune, same, at("1", "2"), ""},
		"nothing pruned":                      {workPrune, same, same, "there are 3 of 3 objects, not 2"},
		"pruned and written":                  {workPrune, same, at("1", "4"), "1 of 3 objects were written, not 0"},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) { expect(t, checkWritten(s, test.work, test.before, test.after), test.wrong) })
	}
}

func TestEmptyObjectMayBeWrittenAgain(t *testing.T) {
	for text, wrong := range map[string]string{
		"{apiVersion: v1, kind: Namespace, metadata: {name: a}}":                 "",
		"{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}}":      "",
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: YQ==}}":   "1 of 1 objects were written",
		"{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {b: c}}}": "1 of 1 objects were written",
	} {
		objects, err := decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s, err := sample{objects: objects}.planned()
		if err != nil {
			t.Fatal(err)
		}
		n := object.RefOf(objects[0])
		expect(t, checkWritten(s, workAgain, map[object.Ref]state{n: {version: "1"}}, map[object.Ref]state{n: {version: "2"}}), wrong)
		expect(t, checkWritten(s, workAgain, nil, map[object.Ref]state{n: {version: "1"}}), "1 of 1 objects were written")
	}
}

// Objects of all tools have to be equal, except for fields that differ from run to run and the
// marks of Helm and of sets.
func TestReferences(t *testing.T) {
	service := func(metadata, ip, uid, port string) *unstructured.Unstructured {
		objects, err := decode([]byte("{apiVersion: v1, kind: Service, metadata: {name: web, uid: '" + uid + "'" + metadata + "}, spec: {clusterIP: " + ip +
			", ports: [{name: " + port + ", nodePort: '" + uid + "'}]}, status: {}}"))
		if err != nil {
			t.Fatal(err)
		}
		return objects[0]
	}
	ref := object.RefOf(service("", "none", "", "http"))
	r := references{}
	for _, step := range []struct {
		what  string
		live  *unstructured.Unstructured
		wrong string
	}{
		{"the first tool sets the reference", service("", "10.0.0.1", "1", "http"), ""},
		{"fields that differ in each run do not count", service("", "10.0.0.2", "2", "http"), ""},
		{"Helm's marks do not count", service(", labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: bench}", "a", "3", "http"), ""},
		{"the label of a set does not count", service(", labels: {applyset.kubernetes.io/part-of: bench}", "a", "3", "http"), ""},
		{"another label counts", service(", labels: {app.kubernetes.io/name: me}", "a", "4", "http"), "differs from another tool's result"},
		{"content counts", service("", "10.0.0.1", "1", "https"), "differs from another tool's result"},
	} {
		t.Run(step.what, func(t *testing.T) {
			expect(t, r.check("few", map[object.Ref]state{ref: {"7", canonical(step.live)}}), step.wrong)
		})
	}
}

func TestReport(t *testing.T) {
	c := cell{sample: sample{title: "1,000 ConfigMaps", kind: "ConfigMap", count: 1000}, rtt: 20 * time.Millisecond}
	took := func(seconds float64) measured {
		return measured{usage: usage{Seconds: seconds, CPUSeconds: 0.5, PeakBytes: 90e6}, requests: 1003, sent: 1_234_000, received: 4000}
	}
	r := &results{started: time.Now()}
	for _, seconds := range []float64{0.4, 0.5, 7} {
		r.add(c, workAgain, toolPlugin, took(seconds))
	}
	r.add(c, workAgain, toolKubectl, took(26))
	r.add(c, workAgain, toolRaw, took(0.25))
	r.add(c, workCreate, toolKubectl, took(120)) // without the plugin's own objects
	r.note("kubectl: no %s", "time")
	r.note("kubectl: no %s", "time")
	r.failures = []string{"kubectl: wrong"}
	var out bytes.Buffer
	r.report(&out)
	for _, want := range []string{
		"### 1,000 ConfigMaps\n",
		"| create | 20 ms | kubectl | 120 | 1 | – | – |  | 1,003 | 1,234 | 4 | 90 | 500 |\n| again |",
		"| again | 20 ms | k8sconnect | 0.50 | 3 | 1.00× | 2.00× | 0.77 s, 120 MB | 1,003 | 1,234 | 4 | 90 | 500 |\n",
		"| again | 20 ms | kubectl | 26.0 | 1 | 52.0× | 104× |  | 1,003 | 1,234 | 4 | 90 | 500 |\n",
		"- kubectl: no time\n",
		"- kubectl: wrong\n",
	} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("want this once: %q in\n%s", want, out.String())
		}
	}
	if !math.IsNaN((*row)(nil).median(nil)) {
		t.Error("a row that was not measured has a median")
	}
}
