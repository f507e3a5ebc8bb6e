package exclusive_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"

	yamltext "sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// Several managers add fields, each under a key of its own, while apply --exclusive runs again and again.
// Each addition is reported as removed by exactly one run, and nothing else is lost. After the last run, the
// object equals its manifest, and no run wrote a value that another manager set.
func TestWritersRaceTheRemoval(t *testing.T) {
	c := shared.Cluster(t)
	a := newAPI(t, c)
	const namespace = "race"
	if err := c.CreateNamespace(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	defer c.DeleteNamespace(namespace)
	j := &judge{t: t, c: c, a: a, batch: "race"}
	sample := documents(t, samples)[0]
	h := &history{name: "web", base: sample, want: sample}
	file := filepath.Join(t.TempDir(), "web.yaml")
	content, err := yamltext.Marshal(named(sample, namespace, h.name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func() result {
		return j.plugin("apply", "-f", file, "--exclusive", "-o", "json")[h.name]
	}
	if r := run(); r.Action != "created" {
		t.Fatalf("apply: %s", indented(r))
	}
	truth := j.live(h, namespace)

	var mu sync.Mutex
	written := map[string]bool{}
	write := func(writers *sync.WaitGroup, round, i int, manager string) {
		writers.Go(func() {
			for n := range 6 {
				key := fmt.Sprintf("w%d-%d-%d", round, i, n)
				part := in(object{key: manager}, "metadata", "annotations")
				if n%2 == 1 { // an item of a list
					part = in([]any{object{"name": "app", "env": []any{object{"name": key, "value": manager}}}}, "spec", "template", "spec", "containers")
				}
				if _, err := a.do(t, http.MethodPatch, at(sample, namespace, h.name), "application/strategic-merge-patch+json", manager, part); err != nil {
					t.Errorf("%s: %v", manager, err)
					return
				}
				mu.Lock()
				written[key] = true
				mu.Unlock()
			}
		})
	}
	added, removed := regexp.MustCompile(`w\d+-\d+-\d+`), map[string]int{}
	rounds := circle.Of(6, 12, 60)
	for round := range rounds + 1 {
		var writers sync.WaitGroup
		if round < rounds { // The last run has no competitors.
			for i, manager := range []string{"kubectl-edit", "k9s", "reloader", "kubectl-patch"} {
				write(&writers, round, i, manager)
			}
		}
		r := run()
		writers.Wait()
		if j.failed(r) {
			t.Fatalf("run %d: %s", round, indented(r))
		}
		for _, change := range slices.Concat(r.Changes, r.Removed) {
			key := added.FindString(change.Path)
			if key == "" {
				t.Errorf("run %d changes %s", round, change.Path)
			}
			removed[key]++
		}
	}
	for key := range written {
		if removed[key] != 1 {
			t.Errorf("%s was reported as removed %d times", key, removed[key])
		}
	}
	if len(written) == 0 || len(removed) != len(written) {
		t.Errorf("%d written, %d removed", len(written), len(removed))
	}
	if paths := differing(j.live(h, namespace), truth); len(paths) > 0 {
		t.Errorf("after the last run, the object differs at %s", paths)
	}
	t.Logf("%d additions", len(written))
}
