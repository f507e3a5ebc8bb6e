package exclusive_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	yamltext "sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// together is the number of histories in one namespace.
const together = 20

// After apply --exclusive, the object equals the same manifest in a fresh namespace, except for what
// the table in docs/design/exclusive.md names. Before it, diff --exclusive names what differs, and
// nothing else. SEED and HISTORIES choose the histories.
func TestHistories(t *testing.T) {
	c := shared.Cluster(t)
	a := newAPI(t, c)
	defineWidgets(t, a)
	samples := readSamples(t)
	seed, many := number(t, "SEED", 1), number(t, "HISTORIES", circle.Of(100, 400, 2000))
	judged, refused, surplus := 0, 0, 0
	for batch := 0; judged+refused < many; batch++ {
		j := &judge{t: t, c: c, a: a, r: rand.New(rand.NewPCG(uint64(seed), uint64(batch))), batch: fmt.Sprintf("%d-%d", seed, batch)}
		j.run(samples)
		judged, refused, surplus = judged+j.judged, refused+j.refused, surplus+j.surplus
	}
	t.Logf("%d histories judged, %d more refused by the server, %d additions", judged, refused, surplus)
	if refused > judged/4 || surplus < judged/2 {
		t.Errorf("%d judged, %d refused, %d additions", judged, refused, surplus)
	}
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		return otherwise
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

type judge struct {
	t                        *testing.T
	c                        *cluster.Cluster
	a                        *api
	r                        *rand.Rand
	batch                    string
	judged, refused, surplus int
	wrongs                   int
}

func (j *judge) run(samples []map[string]any) {
	var all []*history
	for i := range together {
		h := &history{name: fmt.Sprint("h", i), base: clone(samples[j.r.IntN(len(samples))])}
		h.want = clone(h.base)
		cut(j.r, h.want, "")
		if mayBeBare(h.want) && j.r.IntN(3) == 0 {
			h.want = bare(h.want)
		}
		if j.r.IntN(3) == 0 {
			h.base = clone(h.want)
		}
		all = append(all, h)
	}
	j.judge(all, func(h *history, namespace string) bool { return h.run(j.t, j.a, j.r, namespace) })
}

// judge creates the truths, lets play write the histories into a namespace, and judges them. play reports
// whether the object exists.
func (j *judge) judge(candidates []*history, play func(h *history, namespace string) bool) {
	t := j.t
	live, truth := "live-"+j.batch, "truth-"+j.batch
	for _, namespace := range []string{live, truth} {
		if err := j.c.CreateNamespace(t.Context(), namespace); err != nil {
			t.Fatal(err)
		}
		defer j.c.DeleteNamespace(namespace)
	}
	var all []*history
	truths := map[string]map[string]any{}
	for _, h := range candidates {
		answer, err := j.a.do(t, http.MethodPatch, at(h.want, truth, h.name), asApply, us, named(h.want, truth, h.name))
		if err != nil || !play(h, live) {
			continue
		}
		truths[h.name] = answer
		all = append(all, h)
	}
	file := filepath.Join(t.TempDir(), j.batch+".yaml")
	var input bytes.Buffer
	for _, h := range all {
		content, err := yamltext.Marshal(named(h.want, live, h.name))
		if err != nil {
			t.Fatal(err)
		}
		input.WriteString("---\n")
		input.Write(content)
	}
	if err := os.WriteFile(file, input.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	before := map[string]map[string]any{}
	for _, h := range all {
		before[h.name] = j.live(h, live)
	}
	shown := j.plugin("diff", "-f", file, "--exclusive", "--take=all", "-o", "json")
	for _, h := range all {
		if j.failed(shown[h.name]) {
			continue
		}
		j.named(h, before[h.name], truths[h.name], shown[h.name])
	}
	done := j.plugin("apply", "-f", file, "--exclusive", "--take=all", "-o", "json", "--continue-on-conflict")
	again := j.plugin("diff", "-f", file, "--exclusive", "--take=all", "-o", "json")
	for _, h := range all {
		after := j.live(h, live)
		if done[h.name].Action == "" || shown[h.name].Action == "" {
			j.wrong(h, "diff or apply reports no result")
		}
		if j.failed(done[h.name]) || j.failed(shown[h.name]) {
			j.refused++
			j.refusal(h, before[h.name], after, shown[h.name], done[h.name])
			continue
		}
		j.judged++
		j.equal(h, before[h.name], after, truths[h.name])
		if action := again[h.name].Action; action != "unchanged" {
			j.wrong(h, "a second diff says %s; the owners are %s", indented(again[h.name]), text(after["metadata"].(map[string]any)["managedFields"]))
		}
	}
}

// result is the plugin's result for one object.
type result struct {
	Name, Action, Reason string
	Changes, Removed     []struct {
		Path, Change string
		From         any
	}
	Error    *struct{ Message string }
	Warnings []string
	Sharing  any
}

func (j *judge) plugin(args ...string) map[string]result {
	t := j.t
	var out, errOut bytes.Buffer
	cli.Main(t.Context(), append([]string{"kubectl-k8sconnect"}, append(args, "--kubeconfig", j.c.KubeconfigPath)...),
		genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut})
	var document struct{ Objects []result }
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatalf("%s: %v\n%s%s", j.batch, err, &out, &errOut)
	}
	if len(document.Objects) == 0 {
		t.Logf("%s: no objects: %s%s", j.batch, &out, &errOut)
	}
	all := map[string]result{}
	for _, r := range document.Objects {
		all[r.Name] = r
	}
	return all
}

func (j *judge) failed(r result) bool {
	return r.Action == "failed" || r.Action == "unknown" || r.Action == "skipped" || r.Action == "conflict" || r.Action == ""
}

func (j *judge) live(h *history, namespace string) map[string]any {
	o, err := j.a.do(j.t, http.MethodGet, at(h.want, namespace, h.name), "", "", nil)
	if err != nil {
		j.t.Fatal(err)
	}
	return o
}

// named judges a diff: it names each path that differs from the truth, and no other addition.
func (j *judge) named(h *history, live, truth map[string]any, shown result) {
	paths := differing(live, truth)
	if slices.ContainsFunc(shown.Warnings, func(text string) bool { return strings.Contains(text, "not compared") }) {
		j.wrong(h, "warnings: %s", shown.Warnings)
	}
	has, wants := map[string]string{}, map[string]string{}
	flatten(has, "", "", live)
	flatten(wants, "", "", h.want)
	for _, path := range paths {
		// A default that depends on a field that changes appears with the change.
		if has[path] == "" && wants[path] == "" {
			continue
		}
		if !stays(h.want, live, path) && !slices.ContainsFunc(shown.Changes, func(c struct {
			Path, Change string
			From         any
		},
		) bool {
			return touches(c.Path, path)
		}) {
			j.wrong(h, "diff does not name %s; it shows %s; the owners are %s", path, indented(shown.Changes), text(live["metadata"].(map[string]any)["managedFields"]))
		}
	}
	for _, c := range shown.Changes {
		if c.Change != "surplus" {
			continue
		}
		j.surplus++
		if !slices.ContainsFunc(paths, func(path string) bool { return touches(c.Path, path) }) {
			j.wrong(h, "diff names %s, but a fresh object has the same", c.Path)
		}
		if h.want["kind"] == "Secret" && strings.HasPrefix(c.Path, ".data") && c.From == "dg==" {
			j.wrong(h, "diff shows a value of a Secret at %s", c.Path)
		}
	}
}

// equal judges the object after an apply. It differs from the truth only where it differed before, and
// where something stays.
func (j *judge) equal(h *history, before, live, truth map[string]any) {
	was := differing(before, truth)
	for _, path := range differing(live, truth) {
		if !stays(h.want, before, path) || !slices.Contains(was, path) {
			j.wrong(h, "%s differs from a fresh object; the owners were %s", path, text(before["metadata"].(map[string]any)["managedFields"]))
		}
	}
	entries, _ := live["metadata"].(map[string]any)["managedFields"].([]any)
	for _, e := range entries {
		if e := e.(map[string]any); e["manager"] == us && e["operation"] != "Apply" {
			j.wrong(h, "our manager has an entry by %s", e["operation"])
		}
	}
}

// refusal judges a refused apply: the diff said so, or the object is as it was, with its owners.
func (j *judge) refusal(h *history, before, after map[string]any, shown, done result) {
	if !j.failed(shown) || !j.failed(done) {
		j.wrong(h, "diff says %s, apply %s: %s%s", shown.Action, done.Action, indented(shown.Error), indented(done.Error))
	}
	for _, name := range []string{"resourceVersion"} {
		if b, a := before["metadata"].(map[string]any)[name], after["metadata"].(map[string]any)[name]; b != a {
			j.wrong(h, "refused, but %s was %v and is %v", name, b, a)
		}
	}
	j.t.Logf("refused: %s %s/%s: %s: %s, before %s", h.want["kind"], j.batch, h.name, done.Action, indented(done.Error), shown.Action)
}

func (j *judge) wrong(h *history, format string, args ...any) {
	j.t.Helper()
	j.wrongs++
	j.t.Errorf("%s/%s: %s\n  %s\nmanifest: %s", j.batch, h.name, fmt.Sprintf(format, args...), strings.Join(h.steps, "\n  "), text(h.want))
}

// readSamples returns the samples below, and the objects of the corpus if there is one.
func readSamples(t *testing.T) []map[string]any {
	t.Helper()
	all := documents(t, samples)
	dir := os.Getenv("CORPUS")
	if dir == "" {
		return all
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, o := range documents(nil, string(content)) {
			const longest = 20_000
			if len(text(o)) < longest {
				all = append(all, o)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d samples", len(all))
	return all
}

func documents(t *testing.T, content string) []map[string]any {
	var all []map[string]any
	for doc := range strings.SplitSeq("\n"+content, "\n---") {
		var o map[string]any
		if err := yamltext.Unmarshal([]byte(doc), &o); err != nil {
			if t != nil {
				t.Fatal(err)
			}
			continue
		}
		kind, _ := o["kind"].(string)
		meta, _ := o["metadata"].(map[string]any)
		if plurals[kind] == "" || meta["name"] == nil || strings.Contains(fmt.Sprint(o["apiVersion"]), "beta") {
			continue
		}
		if strings.Contains(text(meta["annotations"]), `"helm.sh/hook"`) {
			continue // The plugin leaves out Helm's hooks, and reports nothing about them.
		}
		delete(o, "status")
		withoutNulls(o)
		all = append(all, o)
	}
	return all
}

// withoutNulls removes nulls, which ask for defaults.
func withoutNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			if below == nil {
				delete(v, name)
			}
			withoutNulls(below)
		}
	case []any:
		for _, item := range v {
			withoutNulls(item)
		}
	}
}

func defineWidgets(t *testing.T, a *api) {
	t.Helper()
	var definition map[string]any
	if err := yamltext.Unmarshal([]byte(widgets), &definition); err != nil {
		t.Fatal(err)
	}
	if _, err := a.do(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", asJSON, "test", definition); err != nil && !strings.HasPrefix(err.Error(), "409") {
		t.Fatal(err)
	}
	served := func() bool {
		_, err := a.do(t, http.MethodGet, "/apis/exclusive.example.com/v1/namespaces/default/widgets", "", "", nil)
		return err == nil
	}
	if !cluster.Until(30*time.Second, served) {
		t.Fatal("widgets are not served")
	}
}
