package adopt_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// Edge case 30: the fields of client-side apply become ours.
func TestAdopt(t *testing.T) {
	v := func(manager, operation, version, more, fields string) string {
		return `{manager: ` + manager + `, operation: ` + operation + `, apiVersion: ` + version + more + `, fieldsType: FieldsV1, fieldsV1: ` + fields + `}`
	}
	csa := adopt.From{Once: []string{managedfields.ClientSideApply}}
	named := func(names ...string) adopt.From {
		return adopt.From{Always: names, Once: csa.Once}
	}
	const last = `{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a"},"data":{"a":"1"}}`
	tests := map[string]struct {
		entries       []string
		from          adopt.From
		lastApplied   string
		want          []string
		adopted, left []string
	}{
		"nothing to adopt": {
			entries: []string{v(fieldstest.Us, "Apply", "v1", "", `{f:data: {f:a: {}}}`), v("them", "Update", "v1", "", `{f:data: {f:b: {}}}`)},
			from:    csa,
		},
		"into our entry": {
			entries: []string{
				v(fieldstest.Us, "Apply", "v1", "", `{f:data: {f:a: {}}}`),
				v("kubectl-client-side-apply", "Update", "v1", "", `{f:data: {.: {}, f:a: {}, f:b: {}}}`),
				v("them", "Update", "v1", "", `{f:data: {f:c: {}}}`),
			},
			from:    named(managedfields.ClientSideApply),
			want:    []string{fieldstest.Us + " (Apply) v1: .data .data.a .data.b", "them (Update) v1: .data.c"},
			adopted: []string{"kubectl-client-side-apply (Update)"},
		},
		"no entry yet": {
			entries: []string{v("kubectl-client-side-apply", "Update", "v1", "", `{f:data: {f:b: {}}}`)},
			from:    csa,
			want:    []string{fieldstest.Us + " (Apply) v1: .data.b"},
			adopted: []string{"kubectl-client-side-apply (Update)"},
		},
		"no entry yet, the newest version (edge case 7)": {
			entries: []string{
				v("kubectl-client-side-apply", "Update", "apps/v1beta1", "", `{f:data: {f:a: {}}}`),
				v("kubectl-client-side-apply", "Update", "apps/v1", "", `{f:data: {f:b: {}}}`),
			},
			from:    csa,
			want:    []string{fieldstest.Us + " (Apply) apps/v1: .data.b", "kubectl-client-side-apply (Update) apps/v1beta1: .data.a"},
			adopted: []string{"kubectl-client-side-apply (Update)"},
			left:    []string{"kubectl-client-side-apply (Update)"},
		},
		"at another version only (edge case 7)": {
			entries: []string{
				v(fieldstest.Us, "Apply", "v1", "", `{f:data: {f:a: {}}}`),
				v("kubectl-client-side-apply", "Update", "v1beta1", "", `{f:data: {f:b: {}}}`),
			},
			from: named(managedfields.ClientSideApply),
			left: []string{"kubectl-client-side-apply (Update)"},
		},
		"an applier, an updater, and no subresource": {
			entries: []string{
				v("helm", "Apply", "v1", "", `{f:data: {f:a: {}}}`),
				v("helm", "Update", "v1", "", `{f:data: {f:b: {}}}`),
				v("helm", "Update", "v1", ", subresource: scale", `{f:spec: {f:replicas: {}}}`),
			},
			from:    named("helm"),
			want:    []string{fieldstest.Us + " (Apply) v1: .data.a .data.b", "helm (scale) v1: .spec.replicas"},
			adopted: []string{"helm (Apply)", "helm (Update)"},
		},
		"our own updates, if named (edge case 6)": {
			entries: []string{v(fieldstest.Us, "Update", "v1", "", `{f:data: {f:b: {}}}`), v(fieldstest.Us, "Apply", "v1", "", `{f:data: {f:a: {}}}`)},
			from:    named(fieldstest.Us),
			want:    []string{fieldstest.Us + " (Apply) v1: .data.a .data.b"},
			adopted: []string{fieldstest.Us + " (Update)"},
		},
		"never the status": {
			entries: []string{v("operator", "Update", "v1", "", `{f:data: {f:b: {}}, f:status: {f:phase: {}}}`)},
			from:    named("operator"),
			want:    []string{fieldstest.Us + " (Apply) v1: .data.b", "operator (Update) v1: .status.phase"},
			adopted: []string{"operator (Update)"},
		},
		"nothing but status": {
			entries: []string{v("operator", "Update", "v1", "", `{f:status: {f:phase: {}}}`)},
			from:    named("operator"),
		},
		"before-first-apply: only what was applied (edge case 9)": {
			entries: []string{v("before-first-apply", "Update", "v1", "",
				`{f:data: {.: {}, f:a: {}, f:b: {}}, f:metadata: {f:annotations: {.: {}, f:kubectl.kubernetes.io/last-applied-configuration: {}}, f:finalizers: {.: {}, 'v:"x"': {}}}}`)},
			from: csa, lastApplied: last,
			want: []string{
				fieldstest.Us + ` (Apply) v1: .data .data.a .metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`,
				`before-first-apply (Update) v1: .data.b .metadata.annotations .metadata.finalizers .metadata.finalizers[="x"]`,
			},
			adopted: []string{"before-first-apply (Update)"},
		},
		"before-first-apply without client-side apply (edge case 9)": {
			entries: []string{v("before-first-apply", "Update", "v1", "", `{f:data: {f:a: {}}}`)},
			from:    csa,
		},
		"client-side apply after our own apply is not adopted": {
			entries: []string{
				v(fieldstest.Us, "Apply", "v1", "", `{f:data: {f:a: {}}}`),
				v("kubectl-client-side-apply", "Update", "v1", "", `{f:data: {f:b: {}}}`),
			},
			from: csa,
		},
		"client-side apply is not adopted if another manager is named": {
			entries: []string{
				v(fieldstest.Us, "Apply", "v1", "", `{f:data: {f:a: {}}}`),
				v("kubectl-client-side-apply", "Update", "v1", "", `{f:data: {f:b: {}}}`),
				v("helm", "Update", "v1", "", `{f:data: {f:c: {}}}`),
			},
			from: named("helm"),
			want: []string{
				fieldstest.Us + " (Apply) v1: .data.a .data.c", "kubectl-client-side-apply (Update) v1: .data.b",
			},
			adopted: []string{"helm (Update)"},
		},
		"entry at another version is not adopted after our own apply": {
			entries: []string{
				v(fieldstest.Us, "Apply", "apps/v1", "", `{f:data: {f:b: {}}}`),
				v("kubectl-client-side-apply", "Update", "apps/v1beta1", "", `{f:data: {f:a: {}}}`),
			},
			from: csa,
		},
		"before-first-apply, which our own apply made (edge case 9)": {
			entries: []string{
				v(fieldstest.Us, "Apply", "v1", "", `{f:data: {f:a: {}}}`),
				v("before-first-apply", "Update", "v1", "",
					`{f:data: {f:a: {}, f:b: {}}, f:metadata: {f:annotations: {f:kubectl.kubernetes.io/last-applied-configuration: {}}}}`),
			},
			from: csa, lastApplied: last,
			want: []string{
				fieldstest.Us + ` (Apply) v1: .data.a .metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`,
				`before-first-apply (Update) v1: .data.b`,
			},
			adopted: []string{"before-first-apply (Update)"},
		},
		"before-first-apply, and a later writer has the annotation": {
			entries: []string{
				v(fieldstest.Us, "Apply", "v1", "", `{f:data: {f:a: {}}}`),
				v("before-first-apply", "Update", "v1", "", `{f:data: {f:a: {}, f:b: {}}}`),
				v("kubectl-client-side-apply", "Update", "v1", "",
					`{f:metadata: {f:annotations: {f:kubectl.kubernetes.io/last-applied-configuration: {}}}}`),
			},
			from: csa, lastApplied: last,
		},
		"no manager named": {
			entries: []string{v("kubectl-client-side-apply", "Update", "v1", "", `{f:data: {f:b: {}}}`)},
		},
		"no managed fields (edge case 17)": {from: csa},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			live := fieldstest.Thing(t, tt.lastApplied, tt.entries, `{a: "1", b: "1"}`)
			got, err := adopt.Plan(live, fieldstest.Us, tt.from)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.adopted, fieldstest.OwnerTexts(got.Adopted)); diff != "" {
				t.Errorf("adopted (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.left, fieldstest.OwnerTexts(got.Left)); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
			fields, err := got.Transfer()
			if err != nil || (fields == nil) != (tt.want == nil) || got.Needed() != (tt.want != nil) {
				t.Fatalf("fields: %v, %v", fields, err)
			}
			if fields == nil {
				return
			}
			live.Object["metadata"].(map[string]any)["managedFields"] = fields
			var texts []string
			for _, e := range fieldstest.Entries(t, live) {
				text := e.String() + " " + e.APIVersion + ":"
				for p := range e.Fields.All() {
					if isMark(fieldpath.Path(p)) {
						continue
					}
					text += " " + fieldpath.Path(p).String()
				}
				texts = append(texts, text)
			}
			if diff := cmp.Diff(tt.want, texts); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A field that the apply changes stays with its owner until the apply. A value that the manifest
// only spells differently moves with the rest.
func TestLeave(t *testing.T) {
	us := fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}, f:b: {}, f:c: {}}}`)
	live := fieldstest.Thing(t, "", []string{fieldstest.Entry("helm", "Update", `{f:data: {f:a: {}, f:b: {}, f:c: {}, f:d: {}}}`)}, `{a: "1", b: "1", c: "1", d: "1"}`)
	answer := fieldstest.Thing(t, "", []string{us, fieldstest.Entry("helm", "Update", `{f:data: {f:c: {}, f:d: {}}}`)}, `{a: "2", b: "1", c: "1", d: "1"}`)
	a, err := adopt.Plan(live, fieldstest.Us, adopt.From{Always: []string{"helm"}})
	if err != nil {
		t.Fatal(err)
	}
	if a, err = a.Leave(answer); err != nil {
		t.Fatal(err)
	}
	fields, err := a.Transfer()
	if err != nil {
		t.Fatal(err)
	}
	live.Object["metadata"].(map[string]any)["managedFields"] = fields
	got := map[string]string{}
	for _, e := range fieldstest.Entries(t, live) {
		for p := range e.Fields.All() {
			if !isMark(fieldpath.Path(p)) {
				got[e.Manager] += fieldpath.Path(p).String()
			}
		}
	}
	if diff := cmp.Diff(map[string]string{fieldstest.Us: ".data.b.data.c.data.d", "helm": ".data.a"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Our entry gets the time of the newest entry that it adopts.
func TestAdoptTime(t *testing.T) {
	got, err := adopt.Plan(fieldstest.Read(t, fieldstest.OldLive), fieldstest.Us, adopt.From{Always: []string{managedfields.ClientSideApply}})
	if err != nil {
		t.Fatal(err)
	}
	fields, err := got.Transfer()
	if err != nil {
		t.Fatal(err)
	}
	first, _ := fields[0].(map[string]any)
	if first["manager"] != fieldstest.Us || first["time"] != "2026-11-21T02:35:25Z" {
		t.Errorf("got %v at %v", first["manager"], first["time"])
	}
}

// Edge case 33: a manager stops setting fields that it owned.
func TestDropped(t *testing.T) {
	tests := map[string]struct {
		before, after []string
		live, answer  string
		from          []string
		want          []string
		owners        []string // of the first change
	}{
		"nothing": {
			before: []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}}}`)}, after: []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}}}`)},
			live: `{a: "1"}`, answer: `{a: "1"}`,
		},
		"removed": {
			before: []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}, f:b: {}}}`)}, after: []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}}}`)},
			live: `{a: "1", b: "1"}`, answer: `{a: "1"}`, want: []string{"removed .data.b"},
		},
		"kept by others": {
			before: []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}, f:b: {}}}`), fieldstest.Entry("them", "Update", `{f:data: {f:b: {}}}`)},
			after:  []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}}}`), fieldstest.Entry("them", "Update", `{f:data: {f:b: {}}}`)},
			live:   `{a: "1", b: "1"}`, answer: `{a: "1", b: "1"}`,
			want: []string{"released .data.b"}, owners: []string{"them (Update)"},
		},
		"another default": {
			before: []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:replicas: {}}}`)},
			live:   `{replicas: 5}`, answer: `{replicas: 1}`, want: []string{"changed .data.replicas"},
		},
		"the same default": {
			before: []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:replicas: {}}}`)},
			live:   `{replicas: 1}`, answer: `{replicas: 1}`, want: []string{"released .data.replicas"},
		},
		"now owned as a whole": {
			before: []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:m: {f:x: {}}}}`)}, after: []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:m: {}}}`)},
			live: `{m: {x: "1"}}`, answer: `{m: {}}`, want: []string{"removed .data.m.x"},
		},
		"now owned as a whole, and kept by others": {
			before: []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:m: {f:x: {}}}}`), fieldstest.Entry("them", "Update", `{f:data: {f:m: {f:x: {}}}}`)},
			after:  []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:m: {}}}`), fieldstest.Entry("them", "Update", `{f:data: {f:m: {f:x: {}}}}`)},
			live:   `{m: {x: "1"}}`, answer: `{m: {x: "1"}}`, want: []string{"released .data.m.x"}, owners: []string{"them (Update)"},
		},
		"part of a value that is now atomic": {
			before: []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:m: {f:x: {}}}}`)}, after: []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:m: {}}}`)},
			live: `{m: {x: "1"}}`, answer: `{m: {x: "2"}}`,
		},
		"adopted field of a map that is now empty": {
			before: []string{fieldstest.Entry("kubectl-client-side-apply", "Update", `{f:data: {f:m: {f:x: {}}}}`)},
			after:  []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:m: {}}}`), fieldstest.Entry("kubectl-client-side-apply", "Update", `{f:data: {f:m: {f:x: {}}}}`)},
			live:   `{m: {x: "1"}}`, answer: `{m: {x: "1"}}`, from: []string{managedfields.ClientSideApply},
			want: []string{"removed .data.m.x"},
		},
		"list item (edge case 4)": {
			before: []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:l: {'k:{"name":"a"}': {.: {}, f:name: {}, f:v: {}}, 'k:{"name":"b"}': {.: {}, f:name: {}}}}}`)},
			after:  []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:l: {'k:{"name":"b"}': {.: {}, f:name: {}}}}}`)},
			live:   `{l: [{name: a, v: "1"}, {name: b}]}`, answer: `{l: [{name: b}]}`, want: []string{`removed .data.l[name="a"]`},
		},
		"list item that others keep in part (edge case 26)": {
			before: []string{
				fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:l: {'k:{"name":"a"}': {.: {}, f:name: {}, f:v: {}, f:w: {}}}}}`),
				fieldstest.Entry("them", "Apply", `{f:data: {f:l: {'k:{"name":"a"}': {.: {}, f:name: {}, f:v: {}}}}}`),
			},
			after: []string{fieldstest.Entry("them", "Apply", `{f:data: {f:l: {'k:{"name":"a"}': {.: {}, f:name: {}, f:v: {}}}}}`)},
			live:  `{l: [{name: a, v: "1", w: "1"}]}`, answer: `{l: [{name: a, v: "1"}]}`,
			want: []string{`released .data.l[name="a"]`, `removed .data.l[name="a"].w`}, owners: []string{"them (Apply)"},
		},
		"set item (edge case 2)": {
			before: []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:l: {'v:"x"': {}}}}`)},
			live:   `{l: [x, z]}`, answer: `{l: [z]}`, want: []string{`removed .data.l[="x"]`},
		},
		"not live": {
			before: []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:gone: {}}}`)}, live: `{a: "1"}`, answer: `{a: "1"}`,
		},
		"to be adopted (edge case 30)": {
			before: []string{fieldstest.Entry("kubectl-client-side-apply", "Update", `{f:data: {.: {}, f:a: {}, f:b: {}}}`)},
			after:  []string{fieldstest.Entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}}}`), fieldstest.Entry("kubectl-client-side-apply", "Update", `{f:data: {.: {}, f:a: {}, f:b: {}}}`)},
			live:   `{a: "1", b: "1"}`, answer: `{a: "1", b: "1"}`, from: []string{managedfields.ClientSideApply},
			want: []string{"removed .data.b"},
		},
		"to be adopted, and shared (edge case 30)": {
			before: []string{fieldstest.Entry("kubectl-client-side-apply", "Update", `{f:data: {f:b: {}}}`), fieldstest.Entry("them", "Update", `{f:data: {f:b: {}}}`)},
			after:  []string{fieldstest.Entry("kubectl-client-side-apply", "Update", `{f:data: {f:b: {}}}`), fieldstest.Entry("them", "Update", `{f:data: {f:b: {}}}`)},
			live:   `{b: "1"}`, answer: `{b: "1"}`, from: []string{managedfields.ClientSideApply},
			want: []string{"released .data.b"}, owners: []string{"them (Update)"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			live := fieldstest.Thing(t, "", tt.before, tt.live)
			adoption, err := adopt.Plan(live, fieldstest.Us, adopt.From{Always: tt.from})
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := adopt.Dropped(live, fieldstest.Thing(t, "", tt.after, tt.answer), fieldstest.Us, adoption)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, fieldstest.ChangeTexts(got)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if len(got) > 0 {
				if diff := cmp.Diff(tt.owners, fieldstest.OwnerTexts(got[0].Owners)); diff != "" {
					t.Errorf("owners (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestWithout(t *testing.T) {
	u := fieldstest.Read(t, `{spec: {a: 1, b: {c: 1}, l: [{name: x, v: 1}, {name: z}], f: [p, q]}}`)
	before := u.DeepCopy()
	got := adopt.Without(u, fieldstest.Paths(t, ".spec.a", ".spec.b.c", `.spec.l[name="x"].v`, `.spec.l[name="z"]`, `.spec.f[="p"]`, ".spec.none"))
	if diff := cmp.Diff(fieldstest.Content(t, `{spec: {b: {}, l: [{name: x}], f: [q]}}`), got.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before.Object, u.Object); diff != "" {
		t.Errorf("the object was changed:\n%s", diff)
	}
	if got := adopt.Without(u, fieldstest.Paths(t, ".spec.none")); got != nil {
		t.Errorf("nothing to remove: %v", got)
	}
}

// isMark reports whether a path marks an unfinished adoption.
func isMark(p fieldpath.Path) bool {
	return len(p) == 1 && p[0].FieldName != nil && strings.HasPrefix(*p[0].FieldName, "k8sconnect.io/")
}

// An interrupted migration remains a migration even if the user names its manager for one run. The
// run after that continues it. An interrupted adoption is not continued.
func TestUnfinishedAdoptionMarks(t *testing.T) {
	once := adopt.From{Once: []string{managedfields.ClientSideApply}}
	always := adopt.From{Always: []string{managedfields.ClientSideApply}}
	entry := func(manager, operation, fields string) string {
		return `{manager: ` + manager + `, operation: ` + operation + `, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: ` + fields + `}`
	}
	tests := map[string]struct {
		mark string
		from adopt.From
		want string
	}{
		"a migration begins":                {from: once, want: "migrating"},
		"an adoption begins":                {from: always, want: "adopting"},
		"named manager during a migration":  {mark: "migrating", from: always, want: "migrating"},
		"named manager during an adoption":  {mark: "adopting", from: always, want: "adopting"},
		"a migration continues":             {mark: "migrating", from: once, want: "migrating"},
		"an adoption that is not continued": {mark: "adopting", from: once, want: ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			entries := []string{entry("kubectl-client-side-apply", "Update", `{f:data: {f:b: {}}}`)}
			if tt.mark != "" {
				entries = append(entries, entry(fieldstest.Us, "Apply", `{f:data: {f:a: {}}, f:k8sconnect.io/`+tt.mark+`/kubectl-client-side-apply: {}}`))
			}
			live := fieldstest.Thing(t, "", entries, `{a: "1", b: "1"}`)
			plan, err := adopt.Plan(live, fieldstest.Us, tt.from)
			if err != nil {
				t.Fatal(err)
			}
			fields, err := plan.Transfer()
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if fields != nil {
				live.Object["metadata"].(map[string]any)["managedFields"] = fields
				ours, _ := managedfields.AppliedBy(fieldstest.Entries(t, live), fieldstest.Us)
				for p := range ours.Fields.All() {
					if isMark(fieldpath.Path(p)) {
						got += strings.Split(*p[0].FieldName, "/")[1]
					}
				}
			}
			if got != tt.want {
				t.Errorf("marked as %q, want %q", got, tt.want)
			}
		})
	}
}
