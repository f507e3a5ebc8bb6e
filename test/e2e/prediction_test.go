package e2e_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// editRounds is the number of times that each copy is edited and applied.
const editRounds = 3

// TestDiffPredictsApply: whatever other managers did to the objects, and however the
// manifests changed, diff and apply say the same of each object, a dry run says what the
// run then says, the result is what diff predicted, and after that there is nothing left
// to do.
//
// Some copies of the samples are edited, each in a namespace of its own;
// `-run 'TestDiffPredictsApply/seed_3$'` repeats one of them, SEEDS=100 tries more.
func TestDiffPredictsApply(t *testing.T) {
	t.Parallel() // uses its own cluster
	c := cluster.ForTest(t, cluster.Options{})
	api, err := newServer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var seen outcomes
	n := circle.Of(2, 5, 5)
	if more, err := strconv.Atoi(os.Getenv("SEEDS")); err == nil {
		n = more
	}
	for seed := range n {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			p := newPrediction(t, c, api, seed)
			p.results(t, "apply", "--take=all")
			p.nothingLeft(t)
			api.mapper.Reset() // the set contains a definition
			for round := range editRounds {
				p.round(t, fmt.Sprint("round ", round), &seen)
			}
		})
	}
	t.Logf("%+v", seen)
	if seen.none == 0 || seen.update == 0 || seen.contested == 0 || seen.unknown == 0 {
		t.Errorf("%+v: the edits did not lead to all outcomes: the test proves nothing", seen)
	}
}

// outcomes counts diff's results.
type outcomes struct{ none, update, contested, unknown int }

// prediction is one copy of the samples.
type prediction struct {
	kubeconfig, file string
	random           *rand.Rand
	subjects         []*subject
}

func newPrediction(t *testing.T, c *cluster.Cluster, api *server, seed int) *prediction {
	p := &prediction{
		kubeconfig: c.KubeconfigPath,
		file:       filepath.Join(t.TempDir(), "set.json"),
		random:     rand.New(rand.NewPCG(uint64(seed), 0)),
	}
	var samples manifests
	files, err := filepath.Glob(filepath.Join("testdata", "shop", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		samples.read(file)
	}
	// Names outside of namespaces get the seed.
	namespace := fmt.Sprint("shop-", seed)
	api.namespace(t.Context(), namespace)
	for _, u := range samples.objects {
		switch {
		case u.GetKind() == "Namespace":
			u.SetName(namespace)
		case u.GetNamespace() != "":
			u.SetNamespace(namespace)
		case u.GetKind() == "CustomResourceDefinition": // one for all
		default:
			u.SetName(fmt.Sprint(u.GetName(), "-", seed))
		}
		p.subjects = append(p.subjects, &subject{server: api, ref: object.RefOf(u), manifest: u, random: p.random})
	}
	p.write(t)
	return p
}

// round edits objects and manifests, and compares all reports on them.
func (p *prediction) round(t *testing.T, what string, seen *outcomes) {
	history := p.edit(t)
	defer func() {
		if t.Failed() {
			t.Logf("%s, edits:\n  %s", what, strings.Join(history, "\n  "))
		}
	}()
	asked, asking := p.results(t, "diff"), p.results(t, "apply", "--dry-run=server")
	blocked := slices.ContainsFunc(asking, func(r verdict) bool { return r.Action == "conflict" })
	for i, d := range asked {
		seen.count(d)
		agree(t, what+", nothing chosen", d, asking[i], blocked)
	}
	reported, reporting, reported2 := p.results(t, "diff", "--take=all"), p.results(t, "apply", "--take=all", "--dry-run=server"), p.results(t, "apply", "--take=all")
	for i, d := range reported {
		agree(t, what+", dry run", d, reporting[i], false)
		agree(t, what+", apply", d, reported2[i], false)
		if reported2[i].Action != "failed" && reported2[i].Action != "skipped" {
			p.happened(t, what, d)
		}
	}
	p.nothingLeft(t)
}

// edit changes some objects as other managers, and some manifests, which stay valid. It describes
// its changes.
func (p *prediction) edit(t *testing.T) []string {
	var history []string
	for _, s := range p.subjects {
		if s.isDefinition() {
			continue
		}
		for p.random.IntN(3) == 0 {
			history = append(history, s.ref.String()+": "+s.edit(t.Context()))
		}
		if p.random.IntN(3) == 0 {
			before := s.manifest.DeepCopy()
			how := change(p.random, s.manifest.Object)
			p.write(t)
			if _, err := manifest.Read(t.Context(), manifest.Options{Filenames: []string{p.file}}); err != nil {
				s.manifest.Object = before.Object
				continue
			}
			history = append(history, s.ref.String()+": manifest "+how)
		}
	}
	p.write(t)
	return history
}

func (p *prediction) write(t *testing.T) {
	t.Helper()
	list := unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for _, s := range p.subjects {
		list.Items = append(list.Items, *s.manifest)
	}
	text, err := list.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// verdict is a verb's result for one object.
type verdict struct {
	Kind, Name, Action, Reason string
	Error                      struct{ Message string }
	Changes                    []struct {
		Path, Change string
		Atomic       bool
		To           any
	}
}

func (r verdict) String() string {
	return fmt.Sprintf("%s/%s %s %s %s", r.Kind, r.Name, r.Action, r.Reason, r.Error.Message)
}

func (r verdict) contested() bool {
	for _, c := range r.Changes {
		if c.Change == "contested" {
			return true
		}
	}
	return false
}

func (o *outcomes) count(d verdict) {
	switch {
	case d.contested():
		o.contested++
	case d.Action == "unchanged":
		o.none++
	case d.Action == "configured":
		o.update++
	case d.Action == "unknown":
		o.unknown++
	}
}

// results runs a verb on the set in this process, and returns its results sorted by object.
func (p *prediction) results(t *testing.T, args ...string) []verdict {
	t.Helper()
	var out, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &stderr}
	args = append(args, "-o", "json", "-f", p.file, "--kubeconfig", p.kubeconfig, "--cache-dir", filepath.Dir(p.file))
	status := cli.Main(t.Context(), append([]string{"kubectl-k8sconnect"}, args...), streams)
	var document struct{ Objects []verdict }
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatalf("%v: exit status %d, %v\n%s", args, status, err, &stderr)
	}
	if want := statusOf(args[0], document.Objects); status != want {
		t.Errorf("%v: exit status %d, want %d\n%s", args, status, want, &out)
	}
	if len(document.Objects) != len(p.subjects) {
		t.Fatalf("%v: %d results for %d objects", args, len(document.Objects), len(p.subjects))
	}
	slices.SortFunc(document.Objects, func(a, b verdict) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return document.Objects
}

// statusOf returns the exit status for a verb's results: 1 for a difference or a failure, 2 for an
// unknown result.
func statusOf(verb string, results []verdict) int {
	status := 0
	for _, r := range results {
		switch r.Action {
		case "created", "configured", "shared":
			if verb == "diff" {
				status = max(status, 1)
			}
		case "conflict", "failed":
			status = max(status, 1)
		case "unknown":
			status = 2
		}
	}
	return status
}

// agree compares diff's result for an object with apply's. blocked reports whether other objects
// are in conflict, which keeps apply from reporting more.
func agree(t *testing.T, what string, d, a verdict, blocked bool) {
	t.Helper()
	want := d.Action
	if d.Action == "unknown" {
		want = "failed"
	}
	if d.contested() && !strings.Contains(what, "dry run") && !strings.Contains(what, "apply") {
		want = "conflict"
	}
	if a.Action == "skipped" && blocked {
		return
	}
	if a.Action != want {
		t.Errorf("%s: diff says: %s\napply says: %s", what, d, a)
	}
}

// happened compares diff's prediction for an object with the live object.
func (p *prediction) happened(t *testing.T, what string, d verdict) {
	t.Helper()
	i := slices.IndexFunc(p.subjects, func(s *subject) bool { return s.ref.GVK.Kind == d.Kind && s.ref.Name == d.Name })
	live, err := p.subjects[i].get(t.Context(), p.subjects[i].ref)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	for _, c := range d.Changes {
		path, err := fieldpath.ParsePath(c.Path)
		if err != nil {
			t.Errorf("%s: %s: %v", what, d, err)
			continue
		}
		got, there := path.Get(live.Object)
		switch {
		case d.Kind == "Secret": // masked
		case c.Change == "removed" && there:
			t.Errorf("%s: %s: %s was predicted to be removed, but is %v", what, d, c.Path, got)
		case c.Change != "removed" && !there:
			t.Errorf("%s: %s: %s was predicted to be %v, but does not exist", what, d, c.Path, c.To)
		case c.Change != "removed" && !holds(got, c.To):
			t.Errorf("%s: %s: %s was predicted to be %v, but is %v", what, d, c.Path, c.To, got)
		}
	}
}

// holds reports whether a live value contains everything that was predicted. The server or others
// may add to it, including to list items.
func holds(live, predicted any) bool {
	switch want := predicted.(type) {
	case map[string]any:
		m, ok := live.(map[string]any)
		for name, v := range want {
			ok = ok && holds(m[name], v)
		}
		return ok
	case []any:
		_, ok := live.([]any)
		return ok
	case float64:
		switch n := live.(type) {
		case int64:
			return float64(n) == want
		case float64:
			return n == want
		}
		return false
	default:
		return reflect.DeepEqual(live, predicted)
	}
}

// nothingLeft checks that applied objects no longer differ, and are not applied again.
func (p *prediction) nothingLeft(t *testing.T) {
	t.Helper()
	for _, d := range p.results(t, "diff", "--take=all") {
		if d.Action != "unchanged" && d.Action != "unknown" {
			t.Errorf("after an apply, diff says: %s %v", d, d.Changes)
		}
	}
}
