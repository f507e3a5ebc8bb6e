package rollouts_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/rollouts"
)

// Applying the changes of a revision to the template of the revision before it yields exactly the
// revision's template, including the order of lists.
func TestReplay(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		templates := []map[string]any{template(r)}
		for range 5 {
			templates = append(templates, mutated(r, templates[len(templates)-1]))
		}
		web := deployment(templates[len(templates)-1])
		var kept []*unstructured.Unstructured
		for i, one := range templates {
			kept = append(kept, replicaSet(i+1, one, ""))
		}
		found, _, err := rollouts.Of(web, kept, rollouts.Recorded{})
		if err != nil {
			t.Fatal(err)
		}
		for _, revision := range found[:len(found)-1] {
			want := map[string]any{"spec": map[string]any{"template": templates[revision.Number-1]}}
			got := copied(map[string]any{"spec": map[string]any{"template": templates[revision.Since-1]}})
			for _, c := range revision.Changes {
				replay(t, got, c)
			}
			if !reflect.DeepEqual(got, copied(want)) {
				t.Fatalf("seed %d, revision %d: replayed %v, not %v\nchanges: %v", seed, revision.Number, text(got), text(want), revision.Changes)
			}
		}
	}
}

// replay makes one change, as a reader of the JSON output would.
func replay(t *testing.T, root map[string]any, c event.RevisionChange) {
	t.Helper()
	path, err := fieldpath.ParsePath(c.Path.String())
	if err != nil {
		t.Fatal(err)
	}
	set := func(v any) {}
	var at any = root
	for i, pe := range path {
		last := i == len(path)-1
		switch holder := at.(type) {
		case map[string]any:
			name := *pe.FieldName
			if set = func(v any) { holder[name] = v }; last && c.Kind == "removed" {
				delete(holder, name)
			}
			at = holder[name]
		case []any:
			n := -1
			for j, item := range holder {
				if isItem(item, fieldpath.KeyOf(pe)) {
					n = j
				}
			}
			above := set
			switch {
			case last && c.Kind == "removed":
				above(append(append([]any{}, holder[:n]...), holder[n+1:]...))
			case n < 0:
				set = func(v any) { above(append(append([]any{}, holder...), v)) }
			default:
				set = func(v any) { holder[n] = v }
				at = holder[n]
			}
		}
	}
	switch {
	case c.Order:
		var out []any
		for _, key := range c.To.([]any) {
			for _, item := range at.([]any) {
				if isItem(item, copied(key.(map[string]any))) {
					out = append(out, item)
				}
			}
		}
		set(out)
	case c.Kind != "removed":
		set(copied(map[string]any{"v": c.To})["v"])
	}
}

func isItem(item any, key map[string]any) bool {
	for name, v := range key {
		if fmt.Sprint(item.(map[string]any)[name]) != fmt.Sprint(v) {
			return false
		}
	}
	return true
}

// template returns a random template. Some of its lists have duplicate or missing keys, which the
// API server accepts in an update.
func template(r *rand.Rand) map[string]any {
	out := map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}}
	spec := map[string]any{"containers": list(r, 1, container)}
	for name, of := range map[string]func(*rand.Rand) any{
		"initContainers": func(r *rand.Rand) any { return list(r, 0, container) },
		"volumes":        func(r *rand.Rand) any { return list(r, 0, named) },
		"nodeSelector":   func(r *rand.Rand) any { return scalars(r) },
		"tolerations":    func(r *rand.Rand) any { return list(r, 0, named) },
		"hostNetwork":    func(r *rand.Rand) any { return r.IntN(2) == 0 },
	} {
		if r.IntN(2) == 0 {
			spec[name] = of(r)
		}
	}
	if r.IntN(2) == 0 {
		out["metadata"].(map[string]any)["annotations"] = scalars(r)
	}
	out["spec"] = spec
	return copied(out)
}

func container(r *rand.Rand) any {
	out := map[string]any{"name": name(r), "image": fmt.Sprintf("r.example/%s:%d", name(r), r.IntN(3))}
	if r.IntN(2) == 0 {
		out["env"] = list(r, 0, named)
	}
	if r.IntN(2) == 0 {
		out["args"] = []any{name(r), name(r)}[:r.IntN(3)]
	}
	if r.IntN(2) == 0 {
		out["ports"] = list(r, 0, func(r *rand.Rand) any {
			return map[string]any{"containerPort": 80 + r.IntN(3), "protocol": []string{"TCP", "UDP"}[r.IntN(2)], "name": name(r)}
		})
	}
	return out
}

func list(r *rand.Rand, least int, item func(*rand.Rand) any) []any {
	out := []any{}
	for range least + r.IntN(4) {
		out = append(out, item(r))
	}
	return out
}

func named(r *rand.Rand) any {
	out := map[string]any{"name": name(r)}
	if r.IntN(20) == 0 {
		delete(out, "name")
	}
	if r.IntN(2) == 0 {
		out["value"] = name(r)
	}
	return out
}

func scalars(r *rand.Rand) map[string]any {
	out := map[string]any{}
	for range r.IntN(4) {
		out[name(r)] = name(r)
	}
	return out
}

func name(r *rand.Rand) string {
	return []string{"a", "b", "c", "d", "e", `a "quoted" one`, "x<y&z>", "ü/ö.é", ""}[r.IntN(9)]
}

// mutated returns a copy of a template that differs from it in some of its parts.
func mutated(r *rand.Rand, before map[string]any) map[string]any {
	out, other := copied(before), template(r)
	mix(r, out, other)
	return out
}

func mix(r *rand.Rand, into, from map[string]any) {
	for k, v := range from {
		a, aMap := into[k].(map[string]any)
		b, bMap := v.(map[string]any)
		switch l, isList := into[k].([]any); {
		case aMap && bMap && r.IntN(4) > 0:
			mix(r, a, b)
		case isList && r.IntN(2) == 0:
			r.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
		case isList && len(l) > 0 && r.IntN(2) == 0:
			if item, ok := l[0].(map[string]any); ok {
				item["value"] = name(r)
			}
		case r.IntN(3) == 0:
			into[k] = v
		case r.IntN(8) == 0:
			delete(into, k)
		}
	}
}

func copied(v map[string]any) map[string]any {
	var out map[string]any
	if err := json.Unmarshal([]byte(text(v)), &out); err != nil {
		panic(err)
	}
	return out
}

func text(v any) string {
	var b strings.Builder
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		panic(err)
	}
	return b.String()
}
