package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

const fewText = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.bench.example.com}
spec:
  group: bench.example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions: [{name: v1, served: true, storage: true}]
---
apiVersion: bench.example.com/v1
kind: Thing
metadata: {name: one, annotations: {text: "{{ .Nothing }}"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: other}
`

// few is a plot with a definition, an object of its kind and a namespace.
func few(t *testing.T) *lab.Plot {
	t.Helper()
	dir := t.TempDir()
	s, err := lab.Written(dir, lab.Sample{Title: "few", Foreign: true}, func(out *bytes.Buffer, _ int) error {
		_, err := out.WriteString(fewText)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := s.Objects(0)
	if err != nil {
		t.Fatal(err)
	}
	core := schema.GroupVersion{Version: "v1"}
	crds := schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}
	p := &lab.Plot{Lab: &lab.Lab{Dir: dir}, Sample: s, Namespace: "here", Kinds: lab.Kinds{
		core.WithKind("Namespace"):        {Resource: core.WithResource("namespaces")},
		crds.WithKind(lab.DefinitionKind): {Resource: crds.WithResource("customresourcedefinitions")},
	}}
	p.Kinds.Define(objects)
	return p
}

func TestTheRawClientKeepsThePluginsOrder(t *testing.T) {
	const (
		definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.bench.example.com"
		thing      = "/apis/bench.example.com/v1/namespaces/here/things/one"
		other      = "/api/v1/namespaces/other"
	)
	p := few(t)
	for work, want := range map[string]string{
		workCreate: "PATCH " + definition + " | PATCH " + other + " | GET " + definition + " established | PATCH " + thing,
		workDelete: "DELETE " + thing + " | DELETE " + definition + " | DELETE " + other + " | GET " + definition + " gone | GET " + other + " gone",
	} {
		requests, err := rawRequestsOf(p, toolPatch, work)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		wave := map[string]int{}
		for _, r := range requests {
			path, _, _ := strings.Cut(r.Path, "?")
			wave[r.Method+path] = r.Wave
			got = append(got, strings.TrimSpace(r.Method+" "+path+" "+r.Until))
		}
		if got := strings.Join(got, " | "); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", work, got, want)
		}
		if work == workCreate && wave["GET"+definition] >= wave["PATCH"+thing] || work == workDelete && wave["DELETE"+thing] >= wave["DELETE"+definition] {
			t.Errorf("%s: not in waves: %v", work, wave)
		}
	}
}

// A chart has the definitions where Helm looks for them, and renders nothing of the rest.
func TestPeersGetTheSameObjects(t *testing.T) {
	p := few(t)
	argv, err := helmLine(p, "helm", workCreate)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(argv[:3], " "); got != "helm install bench" {
		t.Errorf("got %s", got)
	}
	file := func(parts ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{p.Lab.Dir}, parts...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if text := file("chart", "crds", "000.yaml"); strings.Count(text, "---") != 1 || !strings.Contains(text, "things.bench.example.com") {
		t.Errorf("definitions: %s", text)
	}
	if text := file("chart", "objects.yaml"); strings.Count(text, "---") != 2 || !strings.Contains(text, "{{ .Nothing }}") {
		t.Errorf("objects: %s", text)
	}
	if argv, err = fluxLine(p, "flux", workAgain); err != nil || argv[1] != "apply" {
		t.Fatal(argv, err)
	}
	objects, err := lab.Decode([]byte(file("flux.yaml")))
	if err != nil || len(objects) != 3 {
		t.Fatal(len(objects), err)
	}
	for _, u := range objects {
		if want := map[string]string{"Thing": "here"}[u.GetKind()]; u.GetNamespace() != want {
			t.Errorf("%s is in %q, not in %q", u.GetKind(), u.GetNamespace(), want)
		}
	}
}

func TestAheadAndNot(t *testing.T) {
	c := cell{sample: lab.Sample{Title: "1,000 ConfigMaps"}, rtt: 100 * time.Millisecond}
	r := newResults()
	r.Peers = true
	took := func(seconds float64) lab.Measured {
		return lab.Measured{Usage: lab.Usage{Seconds: seconds}, Requests: 7}
	}
	r.add(c, workAgain, toolPlugin, 0, took(0.5))
	r.add(c, workAgain, toolFlux, 0, took(4))
	r.add(c, workAgain, toolHelm, 0, took(0.25))
	r.add(c, workDiff, toolFlux, 0, took(1)) // with nothing of the plugin's beside it
	var out bytes.Buffer
	r.report(&out)
	for _, want := range []string{
		"The plugin is ahead in 1 of 2 comparisons.\n",
		"- 1,000 ConfigMaps, again, 100 ms, Helm: 0.50 s beside 0.25 s\n",
		"| again | 100 ms | k8sconnect | 0.50 | 1 | 1.00× |  | 7 | 0 | 0.00 |\n",
		"| again | 100 ms | Flux | 4.00 | 1 | 8.00× | yes | 7 | 0 | 0.00 |\n",
		"| again | 100 ms | Helm | 0.25 | 1 | 0.50× | **no** | 7 | 0 | 0.00 |\n",
		"| diff | 100 ms | Flux | 1.00 | 1 | – |  | 7 | 0 | 0.00 |\n",
	} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("not once: %q in:\n%s", want, out.String())
		}
	}
}

func TestHelmsMarksAreNoDifference(t *testing.T) {
	text := func(metadata string) string {
		objects, err := lab.Decode([]byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a" + metadata + "}}"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := canonical(objects[0])
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if one, other := text(", labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: bench}"), text(""); one != other {
		t.Errorf("%s\n%s", one, other)
	}
	if text(", labels: {app.kubernetes.io/name: me}") == text("") {
		t.Error("another label is no difference")
	}
}
