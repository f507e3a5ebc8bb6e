package sweep_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// faults counts what was wrong, by class.
type faults struct {
	mu      sync.Mutex
	classes map[string][]string
}

func (f *faults) add(class, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.classes == nil {
		f.classes = map[string][]string{}
	}
	f.classes[class] = append(f.classes[class], what)
}

func (f *faults) report(t *testing.T) {
	t.Helper()
	const shown = 12
	for _, class := range slices.Sorted(maps.Keys(f.classes)) {
		rows := f.classes[class]
		slices.Sort(rows)
		if len(rows) > shown && !showsAll() {
			rows = append(slices.Clone(rows[:shown]), "…")
		}
		t.Errorf("%d × %s:\n  %s", len(f.classes[class]), class, strings.Join(rows, "\n  "))
	}
}

// isServers reports whether the API server itself does not settle on a row in a scenario, whoever
// applies it, and why.
func isServers(scenario, kind string, r row) (why string, is bool) {
	switch {
	case (scenario == "kubectl create" || scenario == "kubectl apply --server-side") && kind == "Job" && r.path == ".spec.completions" && r.value == "null":
		return "the server sets completions only while parallelism is not set either; later, null would unset completions", true
	case scenario == "kubectl apply --server-side" && strings.HasSuffix(r.path, ".lifecycle.stopSignal") && r.value == `""`:
		return "the server drops an empty stop signal, but keeps its owner, so that it conflicts with every other applier", true
	case kind == "Node" && strings.HasPrefix(r.path, ".spec.taints"):
		return "admission adds a taint to each new Node, inside an atomic list", true
	case kind == "Node" && r.path == ".spec.podCIDRs[0]":
		return "a list with one empty CIDR is valid only in a new Node", true
	case kind == "ResourceSlice" && strings.Contains(r.path, ".taints"):
		return "the server sets the time of a taint anew at each write", true
	case kind == "Job" && strings.HasPrefix(r.path, ".spec.selector"):
		return "the server fills in an empty selector at the create, and then refuses to empty it", true
	case kind == "Everything" && r.path == ".spec.named[0].nested[0].key":
		return "the server merges an item of which all keys are left out to null", true
	}
	return "", false
}

// verdict is the plugin's report about one object.
type verdict struct {
	Name     string
	Action   string
	Warnings []string
	Error    struct{ Message string }
}

// report is the document that a verb prints with -o json.
type report struct {
	Objects  []verdict
	Warnings []string
	LeftOut  []struct{ Message string }
}

func (r report) byName() map[string]verdict {
	out := map[string]verdict{}
	for _, o := range r.Objects {
		out[o.Name] = o
	}
	return out
}

// log reads the API server's audit log in pieces.
type log struct {
	cluster *cluster.Cluster
	api     *api
	offset  int64
	marks   int
}

// writes returns the plugin's writes since the last call, by object name.
func (l *log) writes(t *testing.T) map[string]int {
	t.Helper()
	// The server logs a request after it responds. A request of our own, sent later, marks the end.
	l.marks++
	mark := fmt.Sprintf("/api/v1/namespaces/mark-%d", l.marks)
	_ = l.api.do(t, "GET", mark, "", nil, nil)
	out := map[string]int{}
	over := cluster.Until(auditTime, func() bool {
		events, next, err := l.cluster.AuditEventsFrom(l.offset)
		if err != nil {
			t.Fatal(err)
		}
		l.offset = next
		over := false
		for _, e := range events {
			u, err := url.Parse(e.RequestURI)
			if err != nil {
				t.Fatal(err)
			}
			over = over || u.Path == mark
			isWrite := e.Verb == "patch" || e.Verb == "update" || e.Verb == "create" || e.Verb == "delete"
			if isWrite && strings.HasPrefix(e.UserAgent, "kubectl-k8sconnect") && !u.Query().Has("dryRun") {
				out[path.Base(u.Path)]++
			}
		}
		return over
	})
	if !over {
		t.Fatal("the audit log lacks a request that the server answered")
	}
	return out
}

// content is an object without what every write changes.
func content(object map[string]any) map[string]any {
	out := maps.Clone(object)
	delete(out, "status")
	meta, _ := out["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	for _, name := range []string{"managedFields", "resourceVersion", "generation"} {
		delete(meta, name)
	}
	annotations, _ := meta["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration") // a takeover removes it
	if len(annotations) == 0 {
		delete(meta, "annotations")
	} else {
		meta["annotations"] = annotations
	}
	out["metadata"] = meta
	return out
}

func generation(object map[string]any) any {
	meta, _ := object["metadata"].(map[string]any)
	return meta["generation"]
}

// differences returns the paths at which two values differ.
func differences(path string, a, b any) []string {
	am, aMap := a.(map[string]any)
	bm, bMap := b.(map[string]any)
	if aMap && bMap {
		var out []string
		for _, name := range slices.Sorted(maps.Keys(am)) {
			out = append(out, differences(path+"."+name, am[name], bm[name])...)
		}
		for _, name := range slices.Sorted(maps.Keys(bm)) {
			if _, both := am[name]; !both {
				out = append(out, fmt.Sprintf("%s: %s added", path+"."+name, encode(bm[name])))
			}
		}
		return out
	}
	al, aList := a.([]any)
	bl, bList := b.([]any)
	if aList && bList && len(al) == len(bl) {
		var out []string
		for i := range al {
			out = append(out, differences(fmt.Sprintf("%s[%d]", path, i), al[i], bl[i])...)
		}
		return out
	}
	if reflect.DeepEqual(a, b) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s → %s", path, encode(a), encode(b))}
}

// same reports whether two verbs agree about an object: diff has no word for a conflict, and calls
// a refusal unknown.
func same(applied, other string) bool {
	alias := map[string]string{"unknown": "failed"}
	applied, other = cmp.Or(alias[applied], applied), cmp.Or(alias[other], other)
	return applied == other || applied == "conflict" && other == "configured"
}
