package managedfields_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

func TestCompare(t *testing.T) {
	item := func(names ...string) []string {
		out := []string{}
		for _, n := range names {
			out = append(out, `.list[name="`+n+`"]`, `.list[name="`+n+`"].v`, `.list[name="`+n+`"].name`)
		}
		return out
	}
	tests := map[string]struct {
		before, after string
		set           []string
		want          []string
	}{
		"equal": {`{a: {b: 1, c: [1]}}`, `{a: {b: 1, c: [1]}}`, []string{".a.b", ".a.c"}, nil},
		"scalars": {
			`{a: 1, b: 2, c: 3}`, `{a: 1, b: 5, d: 4}`,
			[]string{".a", ".b", ".c", ".d"},
			[]string{"changed .b", "removed .c", "added .d"},
		},
		"numbers by value":               {`{a: 1}`, `{a: 1.0}`, []string{".a"}, nil},
		"a string is not a number":       {`{a: 1}`, `{a: "1"}`, []string{".a"}, []string{"changed .a"}},
		"null and absent (edge case 16)": {`{a: null}`, `{}`, []string{".a"}, []string{"removed .a"}},
		"absent and null (edge case 16)": {`{}`, `{a: null}`, []string{".a"}, []string{"added .a"}},
		"null and empty (edge case 16)":  {`{a: null}`, `{a: {}}`, []string{".a"}, []string{"changed .a"}},
		"empty and absent (edge case 16)": {
			`{a: {}, b: []}`, `{}`,
			[]string{".a", ".a.x", ".b", `.b[="x"]`},
			[]string{"removed .a", "removed .b"},
		},
		"empty map and list": {`{a: {}}`, `{a: []}`, []string{".a"}, []string{"changed .a"}},
		"emptied (edge case 13)": {
			`{a: {x: 1}}`, `{a: {}}`, []string{".a", ".a.x"}, []string{"removed .a.x"},
		},
		"item moved by a new one (edge case 4)": {
			`{list: [{name: a, v: 1}]}`, `{list: [{name: b, v: 2}, {name: a, v: 1}]}`, item("a", "b"),
			[]string{`added .list[name="b"]`},
		},
		"item changed and removed": {
			`{list: [{name: a, v: 1}, {name: b, v: 2}]}`, `{list: [{name: b, v: 3}]}`, item("a", "b"),
			[]string{`removed .list[name="a"]`, `changed .list[name="b"].v`},
		},
		"items change places": {
			`{list: [{name: a, v: 1}, {name: b, v: 2}]}`, `{list: [{name: b, v: 2}, {name: a, v: 1}]}`, item("a", "b"),
			[]string{`changed .list`},
		},
		"list appears": {
			`{}`, `{list: [{name: a, v: 1}]}`, item("a"), []string{`added .list[name="a"]`},
		},
		"two items of one key": {
			`{list: [{name: a, v: 1}, {name: a, v: 2}]}`, `{list: [{name: a, v: 1}]}`, item("a"),
			[]string{`removed .list[name="a"]`},
		},
		"set (edge case 2)": {
			`{f: [a, b]}`, `{f: [c, a]}`,
			[]string{`.f[="a"]`, `.f[="b"]`, `.f[="c"]`},
			[]string{`removed .f[="b"]`, `added .f[="c"]`},
		},
		"map becomes a string": {
			`{a: {x: 1}}`, `{a: text}`, []string{".a", ".a.x"}, []string{"changed .a"},
		},
		"dotted keys (edge case 1)": {
			`{data: {app.conf: x}}`, `{data: {app.conf: z}}`,
			[]string{`.data["app.conf"]`},
			[]string{`changed .data["app.conf"]`},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := managedfields.Compare(fieldstest.Content(t, tt.before), fieldstest.Content(t, tt.after), fieldstest.Set(t, tt.set...))
			if diff := cmp.Diff(tt.want, fieldstest.ChangeTexts(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Edge case 5: an atomic value is one path, and marked as atomic.
func TestCompareAtomic(t *testing.T) {
	before, after := fieldstest.Content(t, `{selector: {a: 1}, num: 1}`), fieldstest.Content(t, `{selector: {a: 1, theirs: 2}, num: 2}`)
	got := managedfields.Compare(before, after, fieldstest.Set(t, ".selector", ".num"))
	want := []managedfields.Change{
		{Path: fieldstest.Path(t, ".num"), From: int64(1), To: int64(2), Kind: managedfields.Changed},
		{Path: fieldstest.Path(t, ".selector"), From: before["selector"], To: after["selector"], Kind: managedfields.Changed, Atomic: true},
	}
	if diff := cmp.Diff(want, got, cmp.Transformer("text", fieldpath.Path.String)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCompareOrderShowsKeys(t *testing.T) {
	got := managedfields.Compare(
		fieldstest.Content(t, `{list: [{name: a}, {name: b}], f: [1, 2]}`), fieldstest.Content(t, `{list: [{name: b}, {name: a}], f: [2, 1]}`),
		fieldstest.Set(t, `.list[name="a"].name`, `.list[name="b"].name`, `.f[=1]`, `.f[=2]`))
	want := []any{
		[]any{int64(1), int64(2)},
		[]any{int64(2), int64(1)},
		[]any{map[string]any{"name": "a"}, map[string]any{"name": "b"}},
		[]any{map[string]any{"name": "b"}, map[string]any{"name": "a"}},
	}
	if len(got) != 2 {
		t.Fatal(got)
	}
	if diff := cmp.Diff(want, []any{got[0].From, got[0].To, got[1].From, got[1].To}); diff != "" {
		t.Error(diff)
	}
}

func TestCompareWithNil(t *testing.T) {
	object := fieldstest.Content(t, `{a: {b: 1}}`)
	if got := managedfields.Compare(nil, nil, fieldstest.Set(t, ".a.b")); len(got) != 0 {
		t.Errorf("Compare(nil, nil) = %v, want no changes", got)
	}
	if diff := cmp.Diff([]string{"added .a.b"}, fieldstest.ChangeTexts(managedfields.Compare(nil, object, fieldstest.Set(t, ".a.b")))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"removed .a"}, fieldstest.ChangeTexts(managedfields.Compare(object, nil, nil))); diff != "" {
		t.Error(diff)
	}
}

func TestWithOwners(t *testing.T) {
	live := fieldstest.Read(t, fieldstest.WebLive)
	changes := []managedfields.Change{{Path: fieldstest.Path(t, ".spec.replicas")}, {Path: fieldstest.Path(t, ".spec.selector")}}
	got := managedfields.WithOwners(changes, fieldstest.Entries(t, live), fieldstest.Us)
	if diff := cmp.Diff([]string{"kubectl (scale)"}, fieldstest.OwnerTexts(got[0].Owners)); diff != "" {
		t.Error(diff)
	}
	if len(got[1].Owners) != 0 || changes[0].Owners != nil {
		t.Error("the applying manager is listed as an owner, or the argument was changed")
	}
}
