package ownership_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/ownershiptest"
)

// read decodes YAML as a client would: integers are int64.
func read(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var u unstructured.Unstructured
	if err := json.UnmarshalCaseSensitivePreserveInts(content, &u.Object); err != nil {
		t.Fatal(err)
	}
	return &u
}

// thing returns an object with some entries and a spec, both in YAML.
func thing(t testing.TB, version string, entries []string, spec string) *unstructured.Unstructured {
	t.Helper()
	text := "apiVersion: " + version + "\nkind: Thing\nmetadata:\n  name: a\n"
	if len(entries) > 0 {
		text += "  managedFields:\n"
	}
	for _, e := range entries {
		text += "  - " + e + "\n"
	}
	return read(t, text+"spec: "+spec)
}

// at returns an entry at a version; operations may be followed by a subresource.
func at(version, manager, operation, fields string) string {
	subresource := ""
	if operation == "scale" || operation == "status" {
		subresource, operation = ", subresource: "+operation, "Update"
	}
	return fmt.Sprintf(`{manager: %s, operation: %s, apiVersion: %s, fieldsType: FieldsV1, time: "2026-11-21T02:34:57Z"%s, fieldsV1: {f:spec: %s}}`,
		manager, operation, version, subresource, fields)
}

func applied(manager, fields string) string { return at("v1", manager, "Apply", fields) }
func updated(manager, fields string) string { return at("v1", manager, "Update", fields) }

// story is the effect of one write on an object, and the expected transitions.
type story struct {
	before, after        []string // entries
	spec, then           string
	version, thenVersion string // v1 where empty
	want                 []string
	forced               bool // all takeovers
	// blind lists the transitions that are found from managed fields without values, if they differ
	// from want.
	blind []string
}

// stories maps the name of each story to the story.
var stories = func() map[string]story {
	all := maps.Clone(writes)
	maps.Copy(all, moves)
	return all
}()

var writes = map[string]story{
	"nothing": {
		before: []string{applied("flux", `{f:a: {}}`)}, spec: `{a: 1}`,
		after: []string{applied("flux", `{f:a: {}}`)}, then: `{a: 1}`,
	},
	"one's own value changed": {
		before: []string{applied("flux", `{f:a: {}}`)}, spec: `{a: 1}`,
		after: []string{applied("flux", `{f:a: {}}`)}, then: `{a: 2}`,
	},
	"created": {
		after: []string{applied("flux", `{f:a: {}, f:b: {}}`)}, then: `{a: 1, b: 1}`,
		want: []string{".spec.a claimed by flux (Apply)", ".spec.b claimed by flux (Apply)"},
	},
	"applied with force": {
		before: []string{updated("kubectl-edit", `{f:a: {}, f:b: {}}`)}, spec: `{a: 1, b: 1}`,
		after: []string{updated("kubectl-edit", `{f:b: {}}`), applied("flux", `{f:a: {}}`)}, then: `{a: 2, b: 1}`,
		want: []string{".spec.a taken from kubectl-edit (Update) by flux (Apply)"}, forced: true,
		blind: []string{".spec.a lost by kubectl-edit (Update) to flux (Apply)"},
	},
	"updated": {
		before: []string{applied("flux", `{f:a: {}}`)}, spec: `{a: 1}`,
		after: []string{updated("kubectl-edit", `{f:a: {}}`)}, then: `{a: 2}`,
		want:  []string{".spec.a taken from flux (Apply) by kubectl-edit (Update)"},
		blind: []string{".spec.a lost by flux (Apply) to kubectl-edit (Update)"},
	},
	"scaled, by an entry without time (edge case 8)": {
		before: []string{applied("flux", `{f:replicas: {}}`)}, spec: `{replicas: 1}`,
		after: []string{`{manager: hpa, operation: Update, subresource: scale, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:spec: {f:replicas: {}}}}`},
		then:  `{replicas: 5}`,
		want:  []string{".spec.replicas taken from flux (Apply) by hpa (scale)"},
	},
	"the same value applied": {
		before: []string{updated("kubectl-edit", `{f:a: {}}`)}, spec: `{a: 1}`,
		after: []string{updated("kubectl-edit", `{f:a: {}}`), applied("flux", `{f:a: {}}`)}, then: `{a: 1}`,
		want: []string{".spec.a shared by flux (Apply)"},
	},
	"taken from a co-owner": {
		before: []string{applied("argo", `{f:a: {}}`), applied("flux", `{f:a: {}}`)}, spec: `{a: 1}`,
		after: []string{applied("flux", `{f:a: {}}`)}, then: `{a: 2}`,
		want: []string{".spec.a taken from argo (Apply) by flux (Apply)"}, forced: true,
		blind: []string{".spec.a lost by argo (Apply) to flux (Apply)"},
	},
	"released, and another manager keeps it": {
		before: []string{applied("argo", `{f:a: {}}`), applied("flux", `{f:a: {}}`)}, spec: `{a: 1}`,
		after: []string{applied("flux", `{f:a: {}}`)}, then: `{a: 1}`,
		want:  []string{".spec.a released by argo (Apply)"},
		blind: []string{".spec.a lost by argo (Apply) to flux (Apply)"},
	},
	"update entry released while the apply entry stays": {
		before: []string{updated("flux", `{f:a: {}, f:b: {}}`), applied("flux", `{f:a: {}}`)}, spec: `{a: 1, b: 1}`,
		after: []string{updated("flux", `{f:b: {}}`), applied("flux", `{f:a: {}}`)}, then: `{a: 1, b: 1}`,
		want:  []string{".spec.a from flux (Apply), flux (Update) to flux (Apply), unclear: migration"},
		blind: []string{".spec.a lost by flux (Update) to flux (Apply)"},
	},
	// A field set panics if an iteration over it ends early.
	"an entry of many paths moved to another tool": {
		before: []string{updated("helm", `{f:m: {.: {}, f:a: {}, f:b: {}, f:c: {}}}`)}, spec: `{m: {a: 1, b: 1, c: 1}}`,
		after: []string{applied("flux", `{f:m: {.: {}, f:a: {}, f:b: {}, f:c: {}}}`)}, then: `{m: {a: 1, b: 1, c: 1}}`,
		want: []string{
			".spec.m from helm (Update) to flux (Apply), unclear: migration", ".spec.m.a from helm (Update) to flux (Apply), unclear: migration",
			".spec.m.b from helm (Update) to flux (Apply), unclear: migration", ".spec.m.c from helm (Update) to flux (Apply), unclear: migration",
		},
	},
	// An updater can lose a shared path and its value; a user's edit of the managed fields looks
	// the same.
	"updater's path merged into a co-owner's entry": {
		before: []string{updated("helm", `{f:a: {}}`), applied("flux", `{f:a: {}, f:b: {}}`)}, spec: `{a: 1, b: 1}`,
		after: []string{applied("flux", `{f:a: {}, f:b: {}}`)}, then: `{a: 1, b: 1}`,
		want:  []string{".spec.a from flux (Apply), helm (Update) to flux (Apply), unclear: same value"},
		blind: []string{".spec.a lost by helm (Update) to flux (Apply)"},
	},
	"released, and the server sets its default": {
		before: []string{applied("flux", `{f:a: {}, f:b: {}}`)}, spec: `{a: 3, b: 1}`,
		after: []string{applied("flux", `{f:b: {}}`)}, then: `{a: 1, b: 1}`,
		want:  []string{".spec.a released by flux (Apply)"},
		blind: []string{".spec.a removed by flux (Apply)"},
	},
	"removed": {
		before: []string{applied("flux", `{f:a: {}, f:b: {}}`)}, spec: `{a: 1, b: 1}`,
		after: []string{applied("flux", `{f:b: {}}`)}, then: `{b: 1}`,
		want: []string{".spec.a removed by flux (Apply)"},
	},
	"one manager's updates and applies are two owners (edge case 6)": {
		before: []string{updated("flux", `{f:a: {}, f:b: {}}`)}, spec: `{a: 1, b: 1}`,
		after: []string{updated("flux", `{f:b: {}}`), applied("flux", `{f:a: {}}`)}, then: `{a: 2, b: 1}`,
		want: []string{".spec.a taken from flux (Update) by flux (Apply)"}, forced: true,
		blind: []string{".spec.a lost by flux (Update) to flux (Apply)"},
	},
	"kubectl migrates to server-side apply (edge case 97)": {
		before: []string{updated("kubectl-client-side-apply", `{f:a: {}}`), updated("edit", `{f:b: {}}`)}, spec: `{a: 1, b: 1}`,
		after: []string{applied("kubectl", `{f:a: {}}`), updated("edit", `{f:b: {}}`)}, then: `{a: 1, b: 1}`,
		want: []string{".spec.a from kubectl-client-side-apply (Update) to kubectl (Apply), unclear: migration"},
	},
	"kubectl's annotation moves to its own manager (edge case 97)": {
		before: []string{applied("kubectl", `{f:a: {}, f:b: {}}`)}, spec: `{a: 1, b: 1}`,
		after: []string{applied("kubectl", `{f:b: {}}`), applied("kubectl-last-applied", `{f:a: {}}`)}, then: `{a: 2, b: 1}`,
		want: []string{".spec.a from kubectl (Apply) to kubectl-last-applied (Apply), unclear: migration"},
	},
	"tool migrates to server-side apply and changes its own value (edge case 97)": {
		before: []string{updated("helm", `{f:a: {}}`)}, spec: `{a: 1}`,
		after: []string{applied("helm", `{f:a: {}, f:b: {}}`)}, then: `{a: 2, b: 1}`,
		want: []string{".spec.a from helm (Update) to helm (Apply), unclear: migration", ".spec.b claimed by helm (Apply)"},
	},
	"another tool's entry is adopted as a whole (edge case 97)": {
		before: []string{updated("kubectl-client-side-apply", `{f:m: {.: {}, f:a: {}}}`)}, spec: `{m: {a: 1}}`,
		after: []string{applied("k8sconnect", `{f:m: {.: {}, f:a: {}}}`)}, then: `{m: {a: 1}}`,
		want: []string{
			".spec.m from kubectl-client-side-apply (Update) to k8sconnect (Apply), unclear: migration",
			".spec.m.a from kubectl-client-side-apply (Update) to k8sconnect (Apply), unclear: migration",
		},
	},
	"adopted by a co-owner (edge case 97)": {
		before: []string{updated("kubectl-client-side-apply", `{f:m: {.: {}, f:a: {}}}`), applied("k8sconnect", `{f:m: {.: {}, f:a: {}}}`)}, spec: `{m: {a: 1}}`,
		after: []string{applied("k8sconnect", `{f:m: {.: {}, f:a: {}}}`)}, then: `{m: {a: 1}}`,
		want: []string{
			".spec.m from k8sconnect (Apply), kubectl-client-side-apply (Update) to k8sconnect (Apply), unclear: migration",
			".spec.m.a from k8sconnect (Apply), kubectl-client-side-apply (Update) to k8sconnect (Apply), unclear: migration",
		},
	},
	"all values of another tool taken by force: it keeps the map that holds them": {
		before: []string{updated("kubectl-client-side-apply", `{f:m: {.: {}, f:a: {}}}`)}, spec: `{m: {a: 1}}`,
		after: []string{updated("kubectl-client-side-apply", `{f:m: {.: {}}}`), applied("flux", `{f:m: {f:a: {}}}`)}, then: `{m: {a: 2}}`,
		want: []string{".spec.m.a taken from kubectl-client-side-apply (Update) by flux (Apply)"}, forced: true,
		blind: []string{".spec.m.a lost by kubectl-client-side-apply (Update) to flux (Apply)"},
	},
	"another tool's entry taken over with a different value": {
		before: []string{updated("helm", `{f:m: {.: {}, f:a: {}}}`)}, spec: `{m: {a: 1}}`,
		after: []string{applied("flux", `{f:m: {.: {}, f:a: {}}}`)}, then: `{m: {a: 2}}`,
		want: []string{
			".spec.m from helm (Update) to flux (Apply), unclear: migration",
			".spec.m.a taken from helm (Update) by flux (Apply)",
		}, forced: true,
		blind: []string{
			".spec.m from helm (Update) to flux (Apply), unclear: migration",
			".spec.m.a from helm (Update) to flux (Apply), unclear: migration",
		},
	},
	"list item released while its fields change": {
		before: []string{
			applied("argo", `{f:c: {'k:{"name":"x"}': {.: {}, f:name: {}, f:image: {}}}}`),
			updated("edit", `{f:c: {'k:{"name":"x"}': {.: {}, f:name: {}}}}`),
		},
		spec:  `{c: [{name: x, image: a}]}`,
		after: []string{updated("edit", `{f:c: {'k:{"name":"x"}': {.: {}, f:name: {}}}}`)},
		then:  `{c: [{name: x}]}`,
		want: []string{
			`.spec.c[name="x"] released by argo (Apply)`,
			`.spec.c[name="x"].image removed by argo (Apply)`,
			`.spec.c[name="x"].name released by argo (Apply)`,
		},
		blind: []string{
			`.spec.c[name="x"] released by argo (Apply)`,
			`.spec.c[name="x"].image removed by argo (Apply)`,
			`.spec.c[name="x"].name lost by argo (Apply) to edit (Update)`,
		},
	},
	"items of a set list (edge case 2)": {
		before: []string{updated("a", `{f:f: {'v:"x"': {}, 'v:"y"': {}}}`)}, spec: `{f: [x, y]}`,
		after: []string{updated("a", `{f:f: {'v:"y"': {}}}`), updated("b", `{f:f: {'v:"z"': {}}}`)}, then: `{f: [y, z]}`,
		want: []string{`.spec.f[="x"] removed by a (Update)`, `.spec.f[="z"] claimed by b (Update)`},
	},
	"an applier goes to another version (edge case 7)": {
		before: []string{at("v1", "flux", "Apply", `{f:a: {}}`)}, spec: `{a: 1}`,
		after: []string{at("v2", "flux", "Apply", `{f:a: {}}`)}, then: `{a: 2}`, version: "v2", thenVersion: "v2",
		want: []string{".spec.a from flux (Apply) to flux (Apply), unclear: cross-version"},
	},
	"another version overwrites, with the same value (edge case 7)": {
		before: []string{at("v1", "flux", "Apply", `{f:a: {}}`)}, spec: `{a: 1}`,
		after: []string{at("v2", "argo", "Apply", `{f:a: {}}`)}, then: `{a: 1}`, version: "v2", thenVersion: "v2",
		want: []string{".spec.a from flux (Apply) to argo (Apply), unclear: cross-version"},
	},
	"another version overwrites, with another value (edge case 7)": {
		before: []string{at("v1", "flux", "Apply", `{f:a: {}}`)}, spec: `{a: 1}`,
		after: []string{at("v2", "argo", "Apply", `{f:a: {}}`)}, then: `{a: 2}`, version: "v2", thenVersion: "v2",
		want: []string{".spec.a taken from flux (Apply) by argo (Apply)"}, forced: true,
		blind: []string{".spec.a from flux (Apply) to argo (Apply), unclear: cross-version"},
	},
	"a path that only one version has (edge case 7)": {
		before: []string{at("v1", "flux", "Apply", `{f:a: {}}`)}, spec: `{b: 1}`,
		after: []string{at("v2", "argo", "Apply", `{f:a: {}}`)}, then: `{a: 2, b: 1}`, version: "v2", thenVersion: "v2",
		want: []string{".spec.a from flux (Apply) to argo (Apply), unclear: cross-version"},
	},
	"an entry vanishes with its version (edge case 9)": {
		before: []string{at("v1", "flux", "Apply", `{f:a: {}}`), at("v2", "argo", "Apply", `{f:a: {}}`)}, spec: `{a: 1}`,
		after: []string{at("v2", "argo", "Apply", `{f:a: {}}`)}, then: `{a: 2}`, version: "v2", thenVersion: "v2",
		want:  []string{".spec.a from argo (Apply), flux (Apply) to argo (Apply), unclear: cross-version"},
		blind: []string{".spec.a from argo (Apply), flux (Apply) to argo (Apply), unclear: cross-version"},
	},
	"first apply to an object without owners (edge case 9)": {
		spec:  `{a: 1, b: 1}`,
		after: []string{updated("before-first-apply", `{f:b: {}}`), applied("flux", `{f:a: {}}`)}, then: `{a: 2, b: 1}`,
		want: []string{".spec.a claimed by flux (Apply)", ".spec.b claimed by before-first-apply (Update)"},
	},
	"from before-first-apply (edge case 9)": {
		before: []string{updated("before-first-apply", `{f:a: {}}`)}, spec: `{a: 1}`,
		after: []string{applied("flux", `{f:a: {}}`)}, then: `{a: 2}`,
		want: []string{".spec.a from before-first-apply (Update) to flux (Apply), unclear: bookkeeping"},
	},
	"an eleventh updater (edge case 9)": {
		before: []string{updated("oldest", `{f:a: {}}`), applied("flux", `{f:b: {}}`)}, spec: `{a: 1, b: 1}`,
		after: []string{updated("ancient-changes", `{f:a: {}}`), updated("newest", `{f:b: {}}`)}, then: `{a: 1, b: 2}`,
		want: []string{
			".spec.a from oldest (Update) to ancient-changes (Update), unclear: bookkeeping",
			".spec.b taken from flux (Apply) by newest (Update)",
		},
		blind: []string{".spec.a from oldest (Update) to ancient-changes (Update), unclear: bookkeeping", ".spec.b lost by flux (Apply) to newest (Update)"},
	},
	"from ancient-changes (edge case 9)": {
		before: []string{updated("ancient-changes", `{f:a: {}}`)}, spec: `{a: 1}`,
		after: []string{updated("edit", `{f:a: {}}`)}, then: `{a: 2}`,
		want: []string{".spec.a from ancient-changes (Update) to edit (Update), unclear: bookkeeping"},
	},
	"managed fields reset (edge case 9)": {
		before: []string{applied("flux", `{f:a: {}}`)}, spec: `{a: 1}`,
		after: []string{`{}`}, then: `{a: 2}`,
		want: []string{".spec.a from flux (Apply) to no owner, unclear: reset"},
	},
	"a webhook puts its value back (edge case 15)": {
		before: []string{applied("argo", `{f:a: {}}`)}, spec: `{a: rewritten}`,
		after: []string{applied("flux", `{f:a: {}}`)}, then: `{a: rewritten}`,
		want:  []string{".spec.a from argo (Apply) to flux (Apply), unclear: same value"},
		blind: []string{".spec.a lost by argo (Apply) to flux (Apply)"},
	},
	"numbers are compared by value": {
		before: []string{applied("argo", `{f:a: {}}`)}, spec: `{a: 1}`,
		after: []string{applied("flux", `{f:a: {}}`)}, then: `{a: 1.0}`,
		want:  []string{".spec.a from argo (Apply) to flux (Apply), unclear: same value"},
		blind: []string{".spec.a lost by argo (Apply) to flux (Apply)"},
	},
	"an atomic value is one path (edge case 5)": {
		before: []string{applied("argo", `{f:selector: {}}`)}, spec: `{selector: {a: b}}`,
		after: []string{applied("flux", `{f:selector: {}}`)}, then: `{selector: {a: b, c: d}}`,
		want: []string{".spec.selector taken from argo (Apply) by flux (Apply)"}, forced: true,
		blind: []string{".spec.selector lost by argo (Apply) to flux (Apply)"},
	},
	"a granular map becomes something else": {
		before: []string{applied("argo", `{f:m: {.: {}, f:x: {}}}`)}, spec: `{m: {x: 1}}`,
		after: []string{applied("flux", `{f:m: {}}`)}, then: `{m: []}`,
		want: []string{
			".spec.m taken from argo (Apply) by flux (Apply)",
			".spec.m.x removed by argo (Apply)",
		}, forced: true,
		blind: []string{
			".spec.m lost by argo (Apply) to flux (Apply)",
			".spec.m.x removed by argo (Apply)",
		},
	},
	// The API server does not store an empty map in a ConfigMap's data, so a manager that applies
	// one owns a path that does not exist.
	"an empty map that is not stored is filled": {
		before: []string{applied("argo", `{f:m: {}}`)}, spec: `{}`,
		after: []string{updated("edit", `{f:m: {.: {}, f:x: {}}}`)}, then: `{m: {x: 1}}`,
		want: []string{
			".spec.m taken from argo (Apply) by edit (Update)",
			".spec.m.x claimed by edit (Update)",
		},
		blind: []string{
			".spec.m lost by argo (Apply) to edit (Update)",
			".spec.m.x claimed by edit (Update)",
		},
	},
	"an empty map that is not stored is applied by another": {
		before: []string{applied("argo", `{f:m: {}}`)}, spec: `{}`,
		after: []string{applied("flux", `{f:m: {}}`)}, then: `{}`,
		want:  []string{".spec.m from argo (Apply) to flux (Apply), unclear: same value"},
		blind: []string{".spec.m lost by argo (Apply) to flux (Apply)"},
	},
	// The stored version lacks a default of another version. Each write through that other version
	// sets the default anew, and the API server credits the writer with it.
	"default that is not stored moves to the next writer": {
		before: []string{applied("argo", `{f:a: {}, f:default: {}}`)}, spec: `{a: 1}`,
		after: []string{applied("argo", `{f:a: {}}`), updated("edit", `{f:b: {}, f:default: {}}`)}, then: `{a: 1, b: 1, default: 1}`,
		want: []string{
			".spec.b claimed by edit (Update)",
			".spec.default lost by argo (Apply) to edit (Update)",
		},
	},
	"an empty map that is not stored is applied again": {
		before: []string{applied("argo", `{f:m: {}}`), applied("flux", `{f:m: {}}`)}, spec: `{}`,
		after: []string{applied("flux", `{f:m: {}}`)}, then: `{}`,
		want: []string{".spec.m lost by argo (Apply) to flux (Apply)"},
	},
}

func TestTransitions(t *testing.T) {
	for name, tt := range stories {
		t.Run(name, func(t *testing.T) {
			old := thing(t, orV1(tt.version), tt.before, tt.spec)
			if tt.spec == "" {
				old = nil
			}
			got, err := ownershiptest.Transitions(old, thing(t, orV1(tt.thenVersion), tt.after, tt.then))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, texts(got)); diff != "" {
				t.Errorf("transitions (-want +got):\n%s", diff)
			}
			for _, tr := range got {
				if want := tt.forced && tr.Kind == ownership.Taken; tr.Forced != want {
					t.Errorf("%s: forced is %v", tr, tr.Forced)
				}
			}
		})
	}
}

func texts(transitions []ownership.Transition) []string {
	var out []string
	for _, t := range transitions {
		out = append(out, t.String())
	}
	return out
}

func TestNotable(t *testing.T) {
	somebody := []managedfields.Owner{{Manager: "flux", Operation: "Apply"}}
	for kind, want := range map[ownership.Kind]bool{
		ownership.Claimed: false, ownership.Shared: false, ownership.Taken: true, ownership.Lost: true,
		ownership.Released: true, ownership.Removed: false, ownership.Unclear: false,
	} {
		if got := (ownership.Transition{Kind: kind, After: somebody}).Notable(); got != want {
			t.Errorf("%s: notable is %v", kind, got)
		}
		if (ownership.Transition{Kind: kind}).Notable() {
			t.Errorf("%s without an owner: Notable() = true, want false", kind)
		}
	}
}

func TestTransitionsUnreadableEntries(t *testing.T) {
	good := thing(t, "v1", []string{applied("flux", `{f:a: {}}`)}, `{a: 1}`)
	bad := thing(t, "v1", []string{applied("flux", `{'k:{': {}}`)}, `{a: 1}`)
	if _, err := ownershiptest.Transitions(bad, good); err == nil {
		t.Error("the old object's entries cannot be read, and there is no error")
	}
	if _, err := ownershiptest.Transitions(good, bad); err == nil {
		t.Error("the new object's entries cannot be read, and there is no error")
	}
}
