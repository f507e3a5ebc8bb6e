package ownership_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/ownershiptest"
)

// moves are stories in which an entry, except for a part of it, moves to another owner.
var moves = map[string]story{
	// Each write sets a default that is not stored anew, and the server credits the writer with it.
	"an entry moved by a write that is credited with a part of it (edge case 97)": {
		before: []string{updated("helm", `{f:m: {.: {}, f:a: {}}, f:default: {}}`)}, spec: `{m: {a: 1}}`,
		after: []string{applied("helm", `{f:m: {.: {}, f:a: {}}}`), updated("helm", `{f:default: {}}`)}, then: `{m: {a: 1}, default: 1}`,
		want: []string{
			".spec.m from helm (Update) to helm (Apply), unclear: migration",
			".spec.m.a from helm (Update) to helm (Apply), unclear: migration",
		},
	},
	"an entry moved by kubectl, which updates under another name (edge case 97)": {
		before: []string{updated("kubectl-client-side-apply", `{f:a: {}, f:default: {}}`)}, spec: `{a: 1}`,
		after: []string{applied("kubectl", `{f:a: {}}`), updated("kubectl", `{f:default: {}}`)}, then: `{a: 1, default: 1}`,
		want: []string{
			".spec.a from kubectl-client-side-apply (Update) to kubectl (Apply), unclear: migration",
			".spec.default from kubectl-client-side-apply (Update) to kubectl (Update), unclear: migration",
		},
	},
	"an entry moved between two tools (edge case 97)": {
		before: []string{updated("kubectl-client-side-apply", `{f:m: {.: {}, f:a: {}}, f:default: {}}`)}, spec: `{m: {a: 1}}`,
		after: []string{applied("k8sconnect", `{f:m: {.: {}, f:a: {}}}`), updated("kubectl-k8sconnect", `{f:default: {}}`)}, then: `{m: {a: 1}, default: 1}`,
		want: []string{
			".spec.default from kubectl-client-side-apply (Update) to kubectl-k8sconnect (Update), unclear: migration",
			".spec.m from kubectl-client-side-apply (Update) to k8sconnect (Apply), unclear: migration",
			".spec.m.a from kubectl-client-side-apply (Update) to k8sconnect (Apply), unclear: migration",
		},
		blind: []string{
			".spec.default lost by kubectl-client-side-apply (Update) to kubectl-k8sconnect (Update)",
			".spec.m from kubectl-client-side-apply (Update) to k8sconnect (Apply), unclear: migration",
			".spec.m.a from kubectl-client-side-apply (Update) to k8sconnect (Apply), unclear: migration",
		},
	},
	"the write that moves an entry to another tool changes a value of it": {
		before: []string{updated("helm", `{f:m: {.: {}, f:a: {}}, f:b: {}}`)}, spec: `{m: {a: 1}, b: 1}`,
		after: []string{applied("flux", `{f:m: {.: {}, f:a: {}}}`), updated("mover", `{f:b: {}}`)}, then: `{m: {a: 1}, b: 2}`,
		want: []string{
			".spec.b taken from helm (Update) by mover (Update)",
			".spec.m from helm (Update) to flux (Apply), unclear: migration",
			".spec.m.a from helm (Update) to flux (Apply), unclear: migration",
		},
		blind: []string{
			".spec.b lost by helm (Update) to mover (Update)",
			".spec.m from helm (Update) to flux (Apply), unclear: migration",
			".spec.m.a from helm (Update) to flux (Apply), unclear: migration",
		},
	},
	"a forced apply takes the manager's own values, but not the map that holds them (edge case 6)": {
		before: []string{updated("helm", `{f:m: {.: {}, f:a: {}}, f:b: {}}`)}, spec: `{m: {a: 1}, b: 1}`,
		after: []string{updated("helm", `{f:m: {.: {}}}`), applied("helm", `{f:m: {f:a: {}}, f:b: {}}`)}, then: `{m: {a: 2}, b: 2}`,
		want: []string{
			".spec.b taken from helm (Update) by helm (Apply)",
			".spec.m.a taken from helm (Update) by helm (Apply)",
		}, forced: true,
		blind: []string{
			".spec.b lost by helm (Update) to helm (Apply)",
			".spec.m.a lost by helm (Update) to helm (Apply)",
		},
	},
	"an entry divided between two appliers": {
		before: []string{updated("helm", `{f:m: {.: {}, f:a: {}}, f:b: {}}`)}, spec: `{m: {a: 1}, b: 1}`,
		after: []string{applied("flux", `{f:m: {.: {}, f:a: {}}}`), applied("argo", `{f:b: {}}`)}, then: `{m: {a: 1}, b: 2}`,
		want: []string{
			".spec.b taken from helm (Update) by argo (Apply)",
			".spec.m from helm (Update) to flux (Apply), unclear: same value",
			".spec.m.a from helm (Update) to flux (Apply), unclear: same value",
		}, forced: true,
		blind: []string{
			".spec.b lost by helm (Update) to argo (Apply)",
			".spec.m from helm (Update) to flux (Apply), unclear: same value",
			".spec.m.a lost by helm (Update) to flux (Apply)",
		},
	},
}

// field is a field of a random spec: a value, or a map.
type field struct {
	name   string
	fields []field
	// apart means that the value does not move with the others.
	apart bool
}

// randomFields returns some random fields. The first is a map with a value that moves with the
// others.
func randomFields(random *rand.Rand) []field {
	var some func(depth int) []field
	some = func(depth int) []field {
		var out []field
		for n := range 1 + random.IntN(3) {
			f := field{name: fmt.Sprint("f", n)}
			if depth > 0 && random.IntN(3) == 0 {
				f.fields = some(depth - 1)
			} else {
				f.apart = random.IntN(4) == 0
			}
			out = append(out, f)
		}
		return out
	}
	return append([]field{{name: "m", fields: []field{{name: "a"}, {name: "b", apart: random.IntN(2) == 0}}}}, some(3)...)
}

// written returns the fields as a tree, with a prefix before each name. The tree contains the
// values that are not nil and, if maps is set, a marker in each map.
func written(fields []field, prefix string, maps bool, value func(field) any) map[string]any {
	out := map[string]any{}
	for _, f := range fields {
		if len(f.fields) == 0 {
			if v := value(f); v != nil {
				out[prefix+f.name] = v
			}
			continue
		}
		inner := written(f.fields, prefix, maps, value)
		if maps {
			inner["."] = map[string]any{}
		}
		if len(inner) > 0 {
			out[prefix+f.name] = inner
		}
	}
	return out
}

func text(t *testing.T, v any) string {
	t.Helper()
	content, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// held returns the field set of the manager that owns the wanted values. If maps is set, the
// manager owns the maps as well.
func held(t *testing.T, fields []field, maps bool, wanted func(field) bool) string {
	return text(t, written(fields, "f:", maps, func(f field) any {
		if wanted(f) {
			return map[string]any{}
		}
		return nil
	}))
}

func specOf(t *testing.T, fields []field, value func(field) any) string {
	return text(t, written(fields, "", false, value))
}

// seeds returns the number of random cases; with -short, it is a quarter.
func seeds(all uint64) uint64 {
	if testing.Short() {
		return all / 4
	}
	return all
}

// bothWays returns the transitions found with the objects' values, and those found from managed
// fields alone.
func bothWays(t *testing.T, old, now *unstructured.Unstructured) (seen, blind []ownership.Transition) {
	t.Helper()
	seen, err := ownershiptest.Transitions(old, now)
	if err != nil {
		t.Fatal(err)
	}
	if blind, err = ownership.Between(compactOf(old), compactOf(now)); err != nil {
		t.Fatal(err)
	}
	return seen, blind
}

// Edge case 97: a manager moves an entry by an update. The API server credits the manager with the
// fields that this write changes: a value, or a default that is not stored. The rest of the entry
// moved. Only values show the difference.
func TestMoveExceptChangedFields(t *testing.T) {
	for _, tt := range []struct {
		from, to, writer string
		within           bool
	}{
		{from: "helm", to: "helm", writer: "helm", within: true},
		{from: "kubectl-client-side-apply", to: "kubectl", writer: "kubectl", within: true},
		{from: "kubectl-client-side-apply", to: "k8sconnect", writer: "kubectl-k8sconnect"},
	} {
		for seed := range seeds(400) {
			fields := randomFields(rand.New(rand.NewPCG(seed, 0)))
			all := func(field) bool { return true }
			moved := func(f field) bool { return !f.apart }
			changed := func(f field) bool { return f.apart }
			entries := []string{applied(tt.to, held(t, fields, true, moved))}
			if rest := held(t, fields, false, changed); rest != "{}" {
				entries = append(entries, updated(tt.writer, rest))
			}
			isDefault := seed%2 == 0
			old := thing(t, "v1", []string{updated(tt.from, held(t, fields, true, all))}, specOf(t, fields, func(f field) any {
				switch {
				case !f.apart:
					return 1
				case isDefault:
					return nil
				}
				return 0
			}))
			now := thing(t, "v1", entries, specOf(t, fields, func(field) any { return 1 }))
			seen, blind := bothWays(t, old, now)
			if len(seen) < 2 {
				t.Fatalf("%s, seed %d: got %d transitions, want at least 2", tt.from, seed, len(seen))
			}
			for i, tr := range seen {
				credited := !tt.within && tr.After[0].Manager == tt.writer
				if taken := tr.Kind == ownership.Taken; taken != (credited && !isDefault) || !taken && tr.Why != ownership.Migration {
					t.Fatalf("%s, seed %d: %s", tt.from, seed, tr)
				}
				if lost := blind[i].Kind == ownership.Lost; lost != credited || !lost && blind[i].Why != ownership.Migration {
					t.Fatalf("%s, seed %d, without values: %s", tt.from, seed, blind[i])
				}
			}
		}
	}
}

// A forced apply takes values, and does not take the maps that contain them. So it is not a move,
// even if both managers belong to one tool.
func TestForcedApplyIsNotAMove(t *testing.T) {
	for _, by := range []string{"helm", "flux"} {
		for seed := range seeds(200) {
			fields := randomFields(rand.New(rand.NewPCG(seed, 1)))
			taken := func(f field) bool { return !f.apart }
			kept := func(f field) bool { return f.apart }
			old := thing(t, "v1", []string{updated("helm", held(t, fields, true, func(field) bool { return true }))},
				specOf(t, fields, func(field) any { return 1 }))
			now := thing(t, "v1", []string{updated("helm", held(t, fields, true, kept)), applied(by, held(t, fields, false, taken))},
				specOf(t, fields, func(f field) any {
					if f.apart {
						return 1
					}
					return 2
				}))
			seen, blind := bothWays(t, old, now)
			for i := range seen {
				if seen[i].Kind != ownership.Taken || blind[i].Kind != ownership.Lost {
					t.Fatalf("by %s, seed %d: %s; from entries alone: %s", by, seed, seen[i], blind[i])
				}
			}
			if len(seen) == 0 {
				t.Fatalf("by %s, seed %d: nothing was taken", by, seed)
			}
		}
	}
}
