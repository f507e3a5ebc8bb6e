package confirm_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// These tests cover the state space of a confirmed run on a small set: each object as before, as
// reviewed or otherwise; a run cut at each request; each answer of a webhook; each edit of the plan.
// In all of it, a run applies exactly what was reviewed, or nothing and says why. The oracle is the
// stored data. Another cluster is in TestConfirmOtherCluster.

const (
	statesBefore = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "1", gone: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: old}, data: {k: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: r}, immutable: true, data: {k: "1"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {k: password-1}}
`
	// In client-side apply's hands, until the run adopts it.
	statesAdopted  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: d}, data: {k: "1"}}`
	statesReviewed = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {same: "1"}}, data: {k: "2"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: new}, data: {k: "2"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: r}, immutable: true, data: {k: "2"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {k: password-2}}
---
{apiVersion: v1, kind: Secret, metadata: {name: t}, stringData: {k: password-2}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: d}, data: {k: "2"}}
`
)

// small is the set of these tests in a namespace, with a plan.
type small struct {
	c    *cluster.Cluster
	ns   string
	args []string
	plan string
}

func newSmall(t *testing.T, c *cluster.Cluster) small {
	t.Helper()
	s := small{c: c, ns: e2etest.Namespace(t, c)}
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", s.ns, "-f", e2etest.File(t, statesBefore), "--apply-set=shop").Ends(t, 0)
	e2etest.Kubectl(t, c, "apply", "-n", s.ns, "-f", e2etest.File(t, statesAdopted))
	s.label(t, "first")
	s.args = []string{"-n", s.ns, "--apply-set=shop", "--prune", "--recreate=configmap/r", "-f", e2etest.File(t, statesReviewed)}
	s.plan = e2etest.Confirmable(t, c, s.args...)
	return s
}

// label sets a label that the run shares with this owner, because the manifest sets the same value.
func (s small) label(t *testing.T, owner string) {
	t.Helper()
	e2etest.Kubectl(t, s.c, "apply", "--server-side", "-n", s.ns, "--field-manager="+owner, "-f",
		e2etest.File(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {same: "1"}}}`))
}

func (s small) confirm(plan string) []string {
	return append([]string{"apply", "--confirm=" + plan}, s.args...)
}

func (small) objects() []string {
	return []string{"cm/a", "cm/old", "cm/new", "cm/r", "cm/d", "secret/s", "secret/t"}
}

// data returns the data of each object, by its name.
func (s small) data(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	lines := e2etest.Kubectl(t, s.c, append([]string{"get"}, append(s.objects(), "-n", s.ns, "--ignore-not-found",
		"-o", `jsonpath={range .items[*]}{.metadata.name} {.data}{"\n"}{end}`)...)...)
	for line := range strings.Lines(lines) {
		name, data, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[name] = data
	}
	return out
}

// versions identifies the state of all objects, so that each write is noticed.
func (s small) versions(t *testing.T) string {
	t.Helper()
	return e2etest.Kubectl(t, s.c, append([]string{"get"}, append(s.objects(), "-n", s.ns, "--ignore-not-found",
		"-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)...)...)
}

var (
	dataBefore = map[string]string{
		"a": `{"gone":"1","k":"1"}`, "old": `{"k":"1"}`, "r": `{"k":"1"}`, "s": `{"k":"cGFzc3dvcmQtMQ=="}`, "d": `{"k":"1"}`,
	}
	dataReviewed = map[string]string{
		"a": `{"k":"2"}`, "new": `{"k":"2"}`, "r": `{"k":"2"}`, "s": `{"k":"cGFzc3dvcmQtMg=="}`, "t": `{"k":"cGFzc3dvcmQtMg=="}`, "d": `{"k":"2"}`,
	}
)

func (s small) isReviewed(t *testing.T, r *e2etest.Run) {
	t.Helper()
	if got := s.data(t); fmt.Sprint(got) != fmt.Sprint(dataReviewed) {
		t.Errorf("the data is\n%v\nwant\n%v\n%s", got, dataReviewed, r)
	}
}

// finish runs the plan to its end, and once more.
func (s small) finish(t *testing.T) {
	t.Helper()
	s.isReviewed(t, e2etest.Plugin(t, s.c.KubeconfigPath, s.confirm(s.plan)...).Ends(t, 0))
	e2etest.Plugin(t, s.c.KubeconfigPath, s.confirm(s.plan)...).Ends(t, 0).Says(t, "nothing is left to do: the plan was already applied")
}

// refused runs a plan that must write nothing, and say why.
func (s small) refused(t *testing.T, plan, why string) {
	t.Helper()
	was := s.versions(t)
	e2etest.Plugin(t, s.c.KubeconfigPath, s.confirm(plan)...).Ends(t, 1).Says(t, why)
	if now := s.versions(t); now != was {
		t.Errorf("the refused run wrote:\n%s\nwas\n%s", now, was)
	}
}

// A plan is continued if each object is as before the run or as reviewed; a recreated one may also
// be gone, as if the run was cut after the deletion. An object that was made again, with the same content,
// is another one, and a field with another owner is not as reviewed.
func TestConfirmContinues(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	random := e2etest.Randomly(t)
	usual := []string{"before", "reviewed", "otherwise"}
	var states [][]string
	for _, a := range append(usual, "again", "shared") {
		for _, n := range usual {
			for _, s := range usual {
				for _, r := range append(usual, "gone", "again") {
					for _, old := range []string{"before", "gone"} {
						states = append(states, []string{a, n, s, r, old})
					}
				}
			}
		}
	}
	random.Shuffle(len(states), func(i, j int) { states[i], states[j] = states[j], states[i] })
	byName := func(text string) map[string]string {
		objects := map[string]string{}
		for object := range strings.SplitSeq(text, "---\n") {
			_, name, _ := strings.Cut(object, "name: ")
			objects[name[:strings.IndexAny(name, ",}")]] = object
		}
		return objects
	}
	objects, former := byName(statesReviewed), byName(statesBefore)
	for _, state := range states[:circle.Of(8, 200, len(states))] {
		t.Run(strings.Join(state, " "), func(t *testing.T) {
			set := newSmall(t, c)
			var write []string
			for i, name := range []string{"a", "new", "s", "r"} {
				if name == "r" && state[i] != "before" || state[i] == "again" {
					e2etest.Kubectl(t, c, "delete", "cm/"+name, "-n", set.ns)
				}
				switch state[i] {
				case "again":
					write = append(write, former[name])
				case "reviewed":
					write = append(write, objects[name])
				case "otherwise":
					write = append(write, strings.NewReplacer(`"2"`, `"3"`, "password-2", "password-3").Replace(objects[name]))
				}
			}
			if len(write) > 0 {
				e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", set.ns, "-f", e2etest.File(t, strings.Join(write, "---\n")), "--apply-set=shop").Ends(t, 0)
			}
			switch state[0] {
			case "again":
				set.label(t, "first")
			case "shared":
				set.label(t, "second")
			}
			if state[4] == "gone" {
				e2etest.Kubectl(t, c, "delete", "cm/old", "-n", set.ns)
			}
			if slices.ContainsFunc(state, func(s string) bool { return s == "otherwise" || s == "again" || s == "shared" }) {
				set.refused(t, set.plan, "nothing was written")
				return
			}
			set.finish(t)
		})
	}
}

// A run that is killed at any of its requests can be finished. Each object is then as before or as
// reviewed, or on its way from one to the other. If another client has changed an object since, nothing is
// written.
func TestConfirmCut(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	random := e2etest.Randomly(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	first := newSmall(t, c)
	began := len(p.Requests())
	e2etest.Plugin(t, kubeconfig, first.confirm(first.plan)...).Ends(t, 0)
	requests := len(p.Requests()) - began
	at := random.Perm(requests)
	t.Logf("%d requests", requests)
	for _, n := range at[:circle.Of(4, requests, requests)] {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			set := newSmall(t, c)
			e2etest.KilledAt(t, p, kubeconfig, n+1, set.confirm(set.plan)...)
			e2etest.Freed(t, c, set.ns)
			now := set.data(t)
			for name := range dataReviewed {
				if now[name] != dataBefore[name] && now[name] != dataReviewed[name] && name != "r" {
					t.Errorf("%s is %s", name, now[name])
				}
			}
			if random.IntN(4) == 0 {
				e2etest.Kubectl(t, c, "patch", "cm/a", "-n", set.ns, "--field-manager=hotfix", "-p", `{"data":{"k":"hot"}}`)
				set.refused(t, set.plan, "nothing was written")
				return
			}
			set.finish(t)
		})
	}
}

// answerer is an admission webhook that changes or refuses three of the ConfigMaps, and a Secret.
func answerer(t *testing.T, c *cluster.Cluster, ns, answer string, dryRunsToo bool) {
	t.Helper()
	called := make(chan struct{})
	var once sync.Once
	server := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		var review struct {
			Request struct {
				UID, Name string
				DryRun    bool
			}
		}
		if err := json.NewDecoder(in.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		once.Do(func() { close(called) })
		response := map[string]any{"uid": review.Request.UID, "allowed": true}
		patch := map[string]string{
			"drop":   `[{"op":"remove","path":"/data/k"}]`,
			"change": `[{"op":"replace","path":"/data/k","value":"bmluZQ=="}]`,
			"stray":  `[{"op":"replace","path":"/metadata/labels/theirs","value":"nine"}]`,
			"unset":  `[{"op":"remove","path":"/metadata/labels/theirs"}]`,
			"add":    `[{"op":"add","path":"/data/added","value":"bmluZQ=="}]`,
		}[answer]
		name := strings.TrimSuffix(review.Request.Name, "-k8sconnect-probe") // the dry run of a recreation
		switch {
		case name != "a" && name != "new" && name != "t" && name != "r" || review.Request.DryRun && !dryRunsToo:
		case answer == "refuse":
			response["allowed"], response["status"] = false, map[string]any{"message": "refused by the test"}
		case patch != "" && (name == "a" || answer != "stray" && answer != "unset"):
			response["patchType"], response["patch"] = "JSONPatch", []byte(patch)
		}
		_ = json.NewEncoder(out).Encode(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	text, err := json.Marshal(map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": map[string]any{"name": ns},
		"webhooks": []any{map[string]any{
			"name": "answers.example.com", "clientConfig": map[string]any{"url": server.URL, "caBundle": ca}, "sideEffects": "None",
			"admissionReviewVersions": []any{"v1"},
			"rules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps", "secrets"}, "operations": []any{"CREATE", "UPDATE"},
			}},
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": ns}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	e2etest.Kubectl(t, c, "create", "-f", e2etest.File(t, string(text)))
	t.Cleanup(func() { _ = e2etest.KubectlCommand(t, c, "delete", "mutatingwebhookconfiguration", ns).Run() })
	e2etest.Until(t, "the API server calls the webhook", func() bool {
		e2etest.Kubectl(t, c, "create", "configmap", "probe", "-n", ns, "--dry-run=server")
		select {
		case <-called:
			return true
		default:
			return false
		}
	})
}

// An admission webhook that answers writes otherwise than dry runs makes the run fail, and name what
// is stored otherwise. One that answers both alike is a part of the plan.
func TestConfirmAdmission(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	random := e2etest.Randomly(t)
	type admission struct {
		answer     string
		dryRunsToo bool
	}
	var all []admission
	for _, answer := range []string{"pass", "refuse", "drop", "change", "add", "stray", "unset"} {
		all = append(all, admission{answer, false}, admission{answer, true})
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, tt := range all[:circle.Of(4, len(all), len(all))] {
		t.Run(fmt.Sprintf("%s %v", tt.answer, tt.dryRunsToo), func(t *testing.T) {
			set := newSmall(t, c)
			e2etest.Kubectl(t, c, "label", "cm/a", "-n", set.ns, "theirs=1", "--field-manager=other")
			answerer(t, c, set.ns, tt.answer, tt.dryRunsToo)
			if tt.answer == "refuse" && tt.dryRunsToo {
				set.refusedByDryRun(t)
				return
			}
			plan := e2etest.Confirmable(t, c, set.args...)
			was := set.data(t)
			r := e2etest.Plugin(t, c.KubeconfigPath, set.confirm(plan)...)
			now := set.data(t)
			want := map[string]string{"stray": `{"k":"2"}`, "unset": `{"k":"2"}`, "pass": `{"k":"2"}`, "drop": "", "change": `{"k":"bmluZQ=="}`, "add": `{"added":"bmluZQ==","k":"2"}`}[tt.answer]
			for _, name := range []string{"a", "new", "r"} {
				if tt.answer == "refuse" {
					want = was[name]
				}
				if now[name] != want {
					t.Errorf("%s is %q, want %q: %s", name, now[name], want, r)
				}
			}
			switch {
			case tt.answer == "pass" || tt.dryRunsToo:
				r.Ends(t, 0)
			case tt.answer == "refuse":
				r.Ends(t, 1).Says(t, "refused by the test")
			case tt.answer == "stray":
				r.Ends(t, 1).Says(t, "written, but not as reviewed: .metadata.labels.theirs: reviewed unchanged, now changed")
			case tt.answer == "unset":
				r.Ends(t, 1).Says(t, "written, but not as reviewed: .metadata.labels.theirs: reviewed unchanged, now removed")
			default:
				r.Ends(t, 1).Says(t, "written, but not as reviewed: .data."+map[bool]string{true: "added", false: "k"}[tt.answer == "add"])
				r.Matches(t, `(?m)secret/t -n .*\n?.*written, but not as reviewed: `+map[string]string{
					"drop": `\.data\.k: reviewed nothing → \*\*\*, now unchanged$`, "change": `\.data\.k: reviewed nothing → \*\*\*, now nothing → \*\*\*, with another value$`,
					"add": `\.data\.added: reviewed unchanged, now added$`,
				}[tt.answer])
				r.Matches(t, "failed +configmap/new")
				if tt.answer != "add" { // Only our fields of a recreated object can be compared.
					r.Matches(t, "failed +configmap/r ")
				}
			}
			if text := r.Stdout.String() + r.Stderr.String(); strings.Contains(text, "password-") || strings.Contains(text, "cGFzc3dvcmQt") {
				t.Errorf("the output contains a value of a Secret: %s", r)
			}
			if e2etest.Kubectl(t, c, "get", "cm/old", "-n", set.ns, "--ignore-not-found", "-o", "name") == "" && r.Cmd.ProcessState.ExitCode() != 0 {
				t.Errorf("a failed run pruned: %s", r)
			}
		})
	}
}

func (s small) refusedByDryRun(t *testing.T) {
	t.Helper()
	was := s.versions(t)
	e2etest.Plugin(t, s.c.KubeconfigPath, s.confirm(s.plan)...).Says(t, "refused by the test").Ends(t, 2)
	if now := s.versions(t); now != was {
		t.Errorf("the refused run wrote:\n%s\nwas\n%s", now, was)
	}
}

// edits returns the documents that differ from the given one in one place: a changed value, a missing
// field, a missing item, or an item that occurs twice.
func edits(document any) map[string]any {
	out := map[string]any{}
	var visit func(path string, at any, put func(any) any)
	visit = func(path string, at any, put func(any) any) {
		change := func(name string, to any) { out[path+" "+name] = put(to) }
		switch at := at.(type) {
		case map[string]any:
			for name, value := range at {
				with := func(to any, remove bool) any {
					fields := maps.Clone(at)
					if fields[name] = to; remove {
						delete(fields, name)
					}
					return put(fields)
				}
				out[path+"."+name+" missing"] = with(nil, true)
				visit(path+"."+name, value, func(to any) any { return with(to, false) })
			}
		case []any:
			for i, item := range at {
				out[fmt.Sprintf("%s[%d] missing", path, i)] = put(slices.Delete(slices.Clone(at), i, i+1))
				out[fmt.Sprintf("%s[%d] twice", path, i)] = put(slices.Insert(slices.Clone(at), i, item))
				visit(fmt.Sprintf("%s[%d]", path, i), item, func(to any) any {
					items := slices.Clone(at)
					items[i] = to
					return put(items)
				})
			}
		case string:
			change("changed", at+"x")
			change("masked", "***")
			if len(at) == 32 || len(at) == 64 {
				change("flipped", map[bool]string{true: "1", false: "0"}[at[0] == '0']+at[1:])
			}
		case float64:
			change("changed", at+1)
		case bool:
			change("changed", !at)
		case nil:
			change("changed", "x")
		}
	}
	visit("", document, func(to any) any { return to })
	return out
}

// When an owner wrote, and in which API version, is not a part of what is reviewed.
var ownersAge = regexp.MustCompile(`\.owners\[\d+\](\.time|\.apiVersion| twice)`)

// Each edit of a plan is refused, or makes no difference to what is applied. Then it must not be an
// edit of what would change.
func TestConfirmEdited(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	random := e2etest.Randomly(t)
	var set small
	var document any
	renew := func() {
		set = newSmall(t, c)
		text, err := os.ReadFile(set.plan)
		if err != nil {
			t.Fatal(err)
		}
		document = nil
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
	}
	renew()
	var names []string
	for name := range edits(document) {
		names = append(names, name)
	}
	slices.Sort(names)
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:circle.Of(15, len(names), len(names))]
	accepted := 0
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			edited, ok := edits(document)[name]
			if !ok {
				t.Skip("this plan has no such field")
			}
			text, err := json.Marshal(edited)
			if err != nil {
				t.Fatal(err)
			}
			plan := filepath.Join(t.TempDir(), "plan.json")
			if err := os.WriteFile(plan, text, 0o600); err != nil {
				t.Fatal(err)
			}
			was := set.versions(t)
			r := e2etest.Plugin(t, c.KubeconfigPath, set.confirm(plan)...)
			if r.Cmd.ProcessState.ExitCode() == 0 {
				accepted++
				set.isReviewed(t, r)
				if shows := []string{".changes", ".action", ".name ", ".kind ", ".digest", ".content", ".uid", ".ownership", ".values"}; slices.ContainsFunc(shows, func(part string) bool {
					return strings.Contains(name+" ", part)
				}) && !ownersAge.MatchString(name) {
					t.Errorf("the edited plan is accepted: %s", r)
				}
				renew()
				return
			}
			if now := set.versions(t); now != was || !strings.Contains(r.Stderr.String(), "error: ") {
				t.Errorf("the refused run wrote, or does not say why: %s\n%s\nwas\n%s", r, now, was)
			}
		})
	}
	t.Logf("%d edits, %d accepted", len(names), accepted)
}
