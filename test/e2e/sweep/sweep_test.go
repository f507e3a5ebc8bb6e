package sweep_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

const (
	auditTime = 30 * time.Second
	// batch is the number of objects in a run of the plugin.
	batch = 400
)

// showsAll makes the test print every faulty row: SWEEP_ALL=1.
func showsAll() bool { return os.Getenv("SWEEP_ALL") != "" }

// scenario is how the objects came into being before the plugin's first run.
type scenario struct {
	letter, name string
	create       func(t *testing.T, a *api, r resource, namespace string, object map[string]any) error
	flags        []string
}

func scenarios() []scenario {
	post := func(manager string) func(*testing.T, *api, resource, string, map[string]any) error {
		return func(t *testing.T, a *api, r resource, namespace string, object map[string]any) error {
			return a.post(t, r, namespace, manager, object)
		}
	}
	return []scenario{
		{letter: "o", name: "own"},
		{letter: "c", name: "kubectl create", create: post("kubectl-create")},
		{letter: "l", name: "kubectl apply", create: func(t *testing.T, a *api, r resource, namespace string, object map[string]any) error {
			return a.post(t, r, namespace, "kubectl-client-side-apply", withLastApplied(object))
		}},
		{letter: "s", name: "kubectl apply --server-side", create: func(t *testing.T, a *api, r resource, namespace string, object map[string]any) error {
			return a.applyAs(t, r, namespace, "kubectl", object)
		}},
		{letter: "h", name: "helm", create: post("helm"), flags: []string{"--adopt-from=helm"}},
	}
}

func withLastApplied(object map[string]any) map[string]any {
	out := clone(object).(map[string]any)
	meta := out["metadata"].(map[string]any)
	annotations, ok := meta["annotations"].(map[string]any)
	if !ok {
		if _, null := meta["annotations"]; null {
			return out // kubectl fails on it
		}
		annotations = map[string]any{}
		meta["annotations"] = annotations
	}
	annotations["kubectl.kubernetes.io/last-applied-configuration"] = encode(object) + "\n"
	return out
}

// Every field of every kind that the server serves, with each value that the server may read
// otherwise than it was sent. SWEEP_KIND=Service,Job sweeps these kinds, SWEEP_PATH=ports[0] the
// fields whose paths contain it, SEED=n draws another sample, and SWEEP_SCENARIO=helm takes one scenario.
func TestEachFieldOfEachKind(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t) // the audit log
	s := newSweep(t, c)
	for _, how := range scenarios() {
		if only := os.Getenv("SWEEP_SCENARIO"); only != "" && only != how.name {
			continue
		}
		t.Run(how.name, func(t *testing.T) {
			var found faults
			began, judged, refused := time.Now(), 0, 0
			for _, k := range s.sample(how) {
				for rows := range slices.Chunk(k.rows, batch) {
					b := &trial{sweep: s, how: how, kind: k, found: &found}
					b.run(t, rows)
					judged += b.judged
					refused += b.refused
				}
			}
			t.Logf("%d rows judged, %d refused by the server as a new object, %s",
				judged, refused, time.Since(began).Round(time.Second))
			if judged < circle.Of(10, 1000, 1000) && os.Getenv("SWEEP_KIND") == "" {
				t.Errorf("only %d rows were judged", judged)
			}
			found.report(t)
		})
	}
}

// sweep is the cluster with the rows of all kinds.
type sweep struct {
	api     *api
	cluster *cluster.Cluster
	log     *log
	dir     string
	seed    uint64
	kinds   []swept
	number  int
}

// swept is a kind with its rows.
type swept struct {
	resource
	rows []row
}

func newSweep(t *testing.T, c *cluster.Cluster) *sweep {
	t.Helper()
	a := newAPI(t, c)
	s := &sweep{api: a, cluster: c, log: &log{cluster: c, api: a}, dir: t.TempDir(), seed: uint64(time.Now().Unix() / 86400)}
	if text := os.Getenv("SEED"); text != "" {
		var err error
		if s.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("SEED=%d", s.seed)
	for _, definition := range documents(t, "testdata/definitions.yaml") {
		if err := a.do(t, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", definition, nil); err != nil {
			t.Fatal(err)
		}
	}
	served := func() bool {
		var paths struct{ Paths map[string]any }
		a.get(t, "/openapi/v3", &paths)
		_, ok := paths.Paths["apis/sweep.example.com/v1"]
		return ok
	}
	if !cluster.Until(time.Minute, served) {
		t.Fatal("the schema of the custom resources is not published")
	}
	bases := documents(t, "testdata/kinds.yaml")
	for _, b := range bases {
		if spec, ok := b["spec"].(map[string]any); ok && spec["request"] == "$REQUEST" {
			spec["request"] = certificateRequest(t)
		}
	}
	found := a.discover(t)
	// The kinds of the table come first, so that a type is swept where its parents are richest.
	place := func(r resource) int {
		return slices.IndexFunc(bases, func(b map[string]any) bool { return b["apiVersion"] == r.apiVersion && b["kind"] == r.kind })
	}
	slices.SortFunc(found, func(x, y resource) int {
		if px, py := place(x), place(y); px != py {
			return (px+len(bases)+1)%(len(bases)+1) - (py+len(bases)+1)%(len(bases)+1)
		}
		return strings.Compare(x.apiVersion+x.kind, y.apiVersion+y.kind)
	})
	seen := map[string]bool{}
	total := 0
	for _, r := range found {
		base := map[string]any{"apiVersion": r.apiVersion, "kind": r.kind}
		if at := place(r); at >= 0 {
			base = bases[at]
		}
		meta, _ := base["metadata"].(map[string]any)
		if meta == nil {
			meta = map[string]any{"name": "$ID"}
			base["metadata"] = meta
		}
		meta["labels"], meta["annotations"] = map[string]any{"a": "b"}, map[string]any{"a": "b"}
		if r.namespaced {
			meta["namespace"] = "$NS"
			s.namespace(t, "base")
		}
		stored, err := a.try(t, r, "base", named(base, "base", "base", 1))
		if err != nil {
			t.Errorf("%s %s: the base object is refused: %v", r.apiVersion, r.kind, err)
			continue
		}
		generator := rows{doc: r.doc, base: base, stored: stored, seen: seen}
		if alone(r.kind) {
			generator.seen = map[string]bool{}
		}
		rows := generator.all()
		total += len(rows)
		if only := os.Getenv("SWEEP_KIND"); only == "" || slices.Contains(strings.Split(only, ","), r.kind) {
			if path := os.Getenv("SWEEP_PATH"); path != "" {
				rows = slices.DeleteFunc(rows, func(r row) bool { return !strings.Contains(r.path, path) })
			}
			s.kinds = append(s.kinds, swept{r, rows})
		}
	}
	t.Logf("%d rows of %d kinds", total, len(found))
	return s
}

// alone reports whether all of a kind's types are swept, although other kinds use them, too: its
// validation of updates differs.
func alone(kind string) bool { return kind == "Pod" || kind == "Job" || kind == "Everything" }

func (s *sweep) namespace(t *testing.T, name string) {
	t.Helper()
	_ = s.api.do(t, "POST", "/api/v1/namespaces", "application/json",
		map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}, nil)
}

// sample returns the kinds and rows that the test's circle runs in a scenario: all, or some rows of
// some kinds by seed.
func (s *sweep) sample(how scenario) []swept {
	const kinds, rows = 8, 20
	if circle.Of(false, true, true) || os.Getenv("SWEEP_KIND") != "" {
		return s.kinds
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(how.name))
	random := rand.New(rand.NewPCG(s.seed, hash.Sum64()))
	out := slices.Clone(s.kinds)
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	out = out[:min(kinds, len(out))]
	for i := range out {
		some := slices.Clone(out[i].rows)
		random.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		out[i].rows = some[:min(rows, len(some))]
	}
	return out
}

// trial runs a batch of a kind's rows in one scenario.
type trial struct {
	*sweep
	how       scenario
	kind      swept
	found     *faults
	namespace string
	file      string
	objects   map[string]row
	// answers are the server's own answers to the objects.
	answers map[string]map[string]any

	judged, refused int
}

func (b *trial) fault(class, name, why string) {
	r := b.objects[name]
	if _, is := isServers(b.how.name, b.kind.kind, r); is {
		return
	}
	b.found.add(class, fmt.Sprintf("%s %s: %s", b.kind.kind, r, why))
}

func (b *trial) run(t *testing.T, rows []row) {
	t.Helper()
	b.number++
	b.namespace = fmt.Sprintf("%s-%s-%d", strings.ToLower(b.kind.kind), b.how.letter, b.number)
	b.objects, b.answers = map[string]row{}, map[string]map[string]any{}
	if b.kind.namespaced {
		b.sweep.namespace(t, b.namespace)
	}
	if !b.write(t, b.create(t, rows)) {
		return
	}
	b.judged = len(b.objects)
	before := b.api.list(t, b.kind.resource, b.namespace)
	var diff, dry report
	if b.how.create != nil {
		diff, dry = b.plugin(t, "diff"), b.plugin(t, "apply", "--continue-on-conflict", "--dry-run=server")
	}
	first := b.plugin(t, "apply", "--continue-on-conflict")
	after := b.api.list(t, b.kind.resource, b.namespace)
	b.judgeFirst(before, after, diff, dry, first)
	_ = b.log.writes(t)

	before = after
	diff, dry = b.plugin(t, "diff"), b.plugin(t, "apply", "--continue-on-conflict", "--dry-run=server")
	second := b.plugin(t, "apply", "--continue-on-conflict")
	b.judgeSecond(t, before, first, diff, dry, second)
	b.clear(t)
}

// create returns the rows' objects that the server accepts. If the scenario has another client, that
// client creates them.
func (b *trial) create(t *testing.T, rows []row) []map[string]any {
	t.Helper()
	accepted := make([]map[string]any, len(rows))
	var mu sync.Mutex
	parallel(len(rows), func(i int) {
		id := fmt.Sprintf("%s%d-%d", b.how.letter, b.number, i)
		object := named(rows[i].object, id, b.namespace, i)
		answer, err := b.api.try(t, b.kind.resource, b.namespace, object)
		if err == nil && b.how.create != nil {
			err = b.how.create(t, b.api, b.kind.resource, b.namespace, object)
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			b.refused++
			return
		}
		accepted[i], b.objects[nameOf(object)], b.answers[nameOf(object)] = object, rows[i], answer
	})
	return slices.DeleteFunc(accepted, func(o map[string]any) bool { return o == nil })
}

func (b *trial) write(t *testing.T, objects []map[string]any) bool {
	t.Helper()
	var text bytes.Buffer
	for _, object := range objects {
		text.WriteString("---\n" + encode(object) + "\n")
	}
	b.file = filepath.Join(b.dir, fmt.Sprintf("%d.yaml", b.number))
	if err := os.WriteFile(b.file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return len(objects) > 0
}

// plugin runs a verb on the batch's file.
func (b *trial) plugin(t *testing.T, args ...string) report {
	t.Helper()
	args = append(append([]string{"kubectl-k8sconnect"}, args...), "-f", b.file, "-o", "json", "--skip-invalid",
		"--kubeconfig", b.cluster.KubeconfigPath, "--cache-dir", filepath.Join(b.dir, "cache"))
	var stdout, stderr bytes.Buffer
	cli.Main(t.Context(), append(args, b.how.flags...), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr})
	var r report
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		b.found.add("no report", fmt.Sprintf("%s: %v: %s", b.kind.kind, err, stderr.String()))
	}
	for _, left := range r.LeftOut {
		b.found.add("the plugin leaves out what the server accepts", b.kind.kind+": "+left.Message)
	}
	return r
}

// clear removes cluster-scoped objects, which would slow the server down.
func (b *trial) clear(t *testing.T) {
	t.Helper()
	if b.kind.namespaced {
		return
	}
	var names []string
	for name := range b.objects {
		names = append(names, name)
	}
	parallel(len(names), func(i int) {
		_ = b.api.do(t, "DELETE", b.kind.at("", names[i])+"?gracePeriodSeconds=0", "", nil, nil)
	})
}
