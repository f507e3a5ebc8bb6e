package history_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const set = "applyset-0123456789abcdef"

var (
	parent = object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Namespace: "shop", Name: "web"}
	begun  = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
)

// noise returns text that cannot be compressed.
func noise(random *rand.Rand, n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = byte(random.Uint32())
	}
	return base64.StdEncoding.EncodeToString(text)
}

func configMap(name, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "shop"},
		"data": map[string]any{"value": value}, "count": int64(1) << 60,
	}}
}

func secret(namespace string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{"name": "db", "namespace": namespace, "annotations": map[string]any{
			"kubectl.kubernetes.io/last-applied-configuration": "canary",
		}},
		"data":       map[string]any{"password": "Y2FuYXJ5"},
		"stringData": map[string]any{"token": "canary"},
	}}
}

func runOf(id string, result history.Result, objects ...*unstructured.Unstructured) history.Run {
	run := history.Run{ID: id, Started: begun, Who: "jane@laptop", Result: result, Input: "sha256:1", Objects: []history.Object{}}
	for _, u := range objects {
		run.Objects = append(run.Objects, history.ObjectOf(parent, u))
	}
	return run
}

func encode(t *testing.T, run history.Run) []*unstructured.Unstructured {
	t.Helper()
	secrets, err := history.Encode(parent, set, run)
	if err != nil {
		t.Fatal(err)
	}
	return secrets
}

// Runs of any size are unchanged after encoding and decoding, in any order of their parts. No
// Secret exceeds the server's limit.
func TestEncoded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 1000, 700_000, 2_000_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			run := runOf("01J", history.Applied, configMap("a", noise(random, size)), configMap("b", "1"))
			secrets := encode(t, run)
			for _, u := range secrets {
				const limit = 1 << 20
				if text, err := json.Marshal(u.Object); err != nil || len(text)*3/4 > limit {
					t.Errorf("a Secret of %d bytes, %v", len(text), err)
				}
				if u.GetNamespace() != "shop" || u.GetLabels()[history.Label] != set {
					t.Errorf("wrong namespace or set label: %v", u.Object["metadata"])
				}
			}
			if size > 1_000_000 && len(secrets) < 2 {
				t.Errorf("%d Secrets", len(secrets))
			}
			random.Shuffle(len(secrets), func(i, j int) { secrets[i], secrets[j] = secrets[j], secrets[i] })
			got, faults := history.Decode(secrets)
			if !reflect.DeepEqual([]history.Run{run}, got) || len(faults) > 0 {
				t.Errorf("%v\n%.2000v", faults, got)
			}
		})
	}
}

// A run that is too large is stored without its objects.
func TestTooLarge(t *testing.T) {
	run := runOf("01J", history.Applied, configMap("a", noise(rand.New(rand.NewPCG(1, 2)), 14<<20)))
	secrets := encode(t, run)
	got, faults := history.Decode(secrets)
	if len(secrets) != 1 || len(got) != 1 || len(faults) > 0 || !got[0].TooLarge || got[0].Objects != nil || got[0].Usable() || got[0].Who != run.Who {
		t.Errorf("%d Secrets, %v, %.300v", len(secrets), faults, got)
	}
	if _, err := (history.Kept{Runs: got, Faults: faults}).To("01j"); err == nil {
		t.Error("rollback to a run that is too large succeeded")
	}
}

// A missing or changed part is reported, and other runs are still read.
func TestDamaged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	whole := encode(t, runOf("01A", history.Applied, configMap("a", "1")))
	large := encode(t, runOf("01B", history.Applied, configMap("a", noise(random, 2_000_000))))
	for name, damage := range map[string]func(parts []*unstructured.Unstructured) []*unstructured.Unstructured{
		"a part is missing": func(parts []*unstructured.Unstructured) []*unstructured.Unstructured { return parts[1:] },
		"the last part is missing": func(parts []*unstructured.Unstructured) []*unstructured.Unstructured {
			return parts[:len(parts)-1]
		},
		"parts are exchanged": func(parts []*unstructured.Unstructured) []*unstructured.Unstructured {
			parts[0].Object["data"], parts[1].Object["data"] = parts[1].Object["data"], parts[0].Object["data"]
			return parts
		},
		"a part is empty": func(parts []*unstructured.Unstructured) []*unstructured.Unstructured {
			delete(parts[0].Object, "data")
			return parts
		},
		"wrong number of parts": func(parts []*unstructured.Unstructured) []*unstructured.Unstructured {
			return annotated(parts, "k8sconnect.io/part", "1/99")
		},
		"invalid start time": func(parts []*unstructured.Unstructured) []*unstructured.Unstructured {
			return annotated(parts, "k8sconnect.io/started", "yesterday")
		},
		"no run ID": func(parts []*unstructured.Unstructured) []*unstructured.Unstructured {
			return annotated(parts, "k8sconnect.io/run", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			var parts []*unstructured.Unstructured
			for _, part := range large {
				parts = append(parts, part.DeepCopy())
			}
			parts = damage(parts)
			got, faults := history.Decode(slices.Concat(parts, whole))
			if len(got) != 1 || got[0].ID != "01A" || len(faults) == 0 {
				t.Errorf("%d runs, %v", len(got), faults)
			}
		})
	}
}

func annotated(parts []*unstructured.Unstructured, key, value string) []*unstructured.Unstructured {
	for _, u := range parts {
		notes := u.GetAnnotations()
		notes[key] = value
		u.SetAnnotations(notes)
	}
	return parts
}

// Values of Secrets appear in the history only if they are in the parent's own namespace.
func TestWithheld(t *testing.T) {
	for name, test := range map[string]struct {
		parent    string
		namespace string
		withheld  bool
	}{
		"Secret in the parent's namespace": {"shop", "shop", false},
		"Secret in another namespace":      {"shop", "bank", true},
		"parent without a namespace":       {"", "shop", true},
	} {
		t.Run(name, func(t *testing.T) {
			beside := parent
			beside.Namespace = test.parent
			before := secret(test.namespace)
			o := history.ObjectOf(beside, before)
			if o.Withheld != test.withheld || !cmp.Equal(before.Object, secret(test.namespace).Object) {
				t.Errorf("withheld is %v, and the object became %v", o.Withheld, before.Object)
			}
			secrets, err := history.Encode(beside, set, history.Run{ID: "01J", Started: begun, Result: history.Applied, Objects: []history.Object{o}})
			if err != nil {
				t.Fatal(err)
			}
			kept := unpacked(t, secrets[0])
			if has := strings.Contains(kept, "canary") || strings.Contains(kept, "Y2FuYXJ5"); has == test.withheld {
				t.Errorf("unexpected content of the stored history: %s", kept)
			}
			if got, _ := history.Decode(secrets); got[0].Objects[0].Withheld != test.withheld {
				t.Error("Decode lost the mark that the values are withheld")
			}
		})
	}
}

// unpacked returns the content of a Secret with one part. It does not use the tested code.
func unpacked(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	content, err := base64.StdEncoding.DecodeString(u.Object["data"].(map[string]any)["objects"].(string))
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// past encodes runs of a former version, the oldest first. Each letter is one run: A was applied, L
// was applied but is too large, F failed, R is running, and B was rolled back.
func past(t *testing.T, results string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for i, letter := range results {
		result := map[rune]history.Result{'A': history.Applied, 'L': history.Applied, 'F': history.Failed, 'R': history.Running, 'B': history.RolledBack}[letter]
		run := runOf(fmt.Sprint("run", i), result, configMap("a", fmt.Sprint(i)))
		run.Started, run.TooLarge = begun.Add(time.Duration(i)*time.Minute), letter == 'L'
		all = append(all, encode(t, run)...)
	}
	return all
}

// A rollback leads to the last successful run before the newest run, even if the newest run failed.
func TestTo(t *testing.T) {
	for results, want := range map[string]string{
		"": "", "A": "", "F": "", "AA": "run0", "AF": "run0", "AR": "run0", "AAF": "run1", "AFA": "run0", "FAB": "run1", "FF": "",
	} {
		runs, _ := history.Decode(past(t, results))
		got, err := history.Kept{Runs: runs}.To("")
		if got.ID != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s %v, want %s", results, got.ID, err, want)
		}
	}
	runs, _ := history.Decode(past(t, "AFA"))
	if got, err := (history.Kept{Runs: runs}).To("RUN2"); err != nil || got.ID != "run2" {
		t.Errorf("%s %v", got.ID, err)
	}
	if got, err := (history.Kept{Runs: runs}).To("run1"); err != nil || got.ID != "run1" {
		t.Errorf("a failed run that the user names: %s %v", got.ID, err)
	}
	if _, err := (history.Kept{Runs: runs}).To("run9"); err == nil || !strings.Contains(namesIn(err.(interface{ Hint() string }).Hint()), "run2, run1, run0") {
		t.Errorf("%v", err)
	}
}

// An unreadable run keeps its place, so that a rollback does not skip it and lead to an older run.
func TestToWithUnreadableRun(t *testing.T) {
	for at, want := range []string{"run1", "", "run1"} { // the damaged run, and the target
		secrets := past(t, "AAA")
		delete(secrets[at].Object, "data")
		runs, faults := history.Decode(secrets)
		if len(runs) != 2 || len(faults) != 1 {
			t.Fatalf("%d runs, faults %v", len(runs), faults)
		}
		got, err := history.Kept{Runs: runs, Faults: faults}.To("")
		if got.ID != want || (err == nil) != (want != "") {
			t.Errorf("run%d cannot be read: the rollback leads to %q, %v, want %q", at, got.ID, err, want)
		}
		damaged := fmt.Sprint("run", at)
		_, err = history.Kept{Runs: runs, Faults: faults}.To(damaged)
		var hinted interface{ Hint() string }
		if !errors.As(err, &hinted) || !strings.Contains(err.Error(), "cannot be read") || strings.Contains(hinted.Hint(), damaged) || !strings.Contains(hinted.Hint(), runs[0].ID) {
			t.Errorf("rollback to the unreadable run%d: got error %v", at, err)
		}
	}
}

// Runs beyond the limit are deleted, the oldest first, but never the targets of a rollback.
func TestExcess(t *testing.T) {
	for _, test := range []struct {
		results string
		keep    int
		want    []string
	}{
		{"AAAA", 10, nil},
		{"AAAA", 3, []string{"run0"}},
		{"AAAA", 0, []string{"run0", "run1"}},
		{"AAFFFF", 2, []string{"run2", "run3"}},
		{"AALA", 1, []string{"run0"}},
		{"AAAFFFF", 2, []string{"run0", "run3", "run4"}},
	} {
		var got []string
		for _, u := range history.Excess(past(t, test.results), test.keep) {
			got = append(got, u.GetAnnotations()["k8sconnect.io/run"])
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("history %s, keeping %d: %v are deleted, want %v", test.results, test.keep, got, test.want)
		}
	}
}

func headsOf(secrets []*unstructured.Unstructured) int {
	runs, _ := history.Heads(secrets)
	return len(runs)
}

// A job may always use the same id, or apply twice. Runs with the same id and different input are
// different runs. A run with the same id and input replaces the earlier one.
func TestRunsWithTheSameID(t *testing.T) {
	random := rand.New(rand.NewPCG(15, 22))
	secrets := map[string]*unstructured.Unstructured{} // the cluster's Secrets by name
	keep := func(run history.Run) {
		for _, u := range encode(t, run) {
			secrets[u.GetName()] = u
		}
	}
	run := func(input string, after time.Duration, result history.Result, size int) history.Run {
		r := runOf("deploy", result, configMap("a", input+noise(random, size)))
		r.Input, r.Started = input, begun.Add(after)
		return r
	}
	keep(run("sha256:aaaaaaaa", 0, history.Applied, 2<<20)) // several parts
	keep(run("sha256:bbbbbbbb", time.Hour, history.Failed, 10))
	again := run("sha256:bbbbbbbb", 2*time.Hour, history.Applied, 10)
	keep(again)
	all := slices.Collect(maps.Values(secrets))
	runs, faults := history.Decode(all)
	if len(faults) > 0 || len(runs) != 2 || runs[0].Input != "sha256:bbbbbbbb" || runs[0].Result != history.Applied || headsOf(all) != 2 {
		t.Fatalf("%d runs, faults %v", len(runs), faults)
	}
	if to, err := (history.Kept{Runs: runs}).To(""); err != nil || to.Input != "sha256:aaaaaaaa" {
		t.Errorf("the rollback leads to %q, %v, want sha256:aaaaaaaa", to.Input, err)
	}
	if to, err := (history.Kept{Runs: runs}).To("deploy.aaaaaa"); err != nil || to.Input != "sha256:aaaaaaaa" {
		t.Errorf("the rollback to deploy.aaaaaa leads to %q, %v", to.Input, err)
	}
	var hinted interface{ Hint() string }
	_, err := history.Kept{Runs: runs}.To("deploy")
	if !errors.As(err, &hinted) || namesIn(hinted.Hint()) != "name one of them: deploy.bbbbbb, deploy.aaaaaa" {
		t.Errorf("rollback to an ID of two runs: got error %v", err)
	}
	if excess := history.Excess(all, 1); len(excess) != 0 {
		t.Errorf("%d Secrets of the two newest runs would be deleted", len(excess))
	}
}
