package fieldpath_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

func TestParsePattern(t *testing.T) {
	for text, want := range map[string]string{
		`.webhooks[*].clientConfig.caBundle`: `.webhooks[*].clientConfig.caBundle`,
		`webhooks[ * ].name`:                 `.webhooks[*].name`,
		`.metadata.annotations.*`:            `.metadata.annotations[*]`,
		`.spec.containers[name=app].image`:   `.spec.containers[name="app"].image`,
		`[*]`:                                `[*]`,
		`.data["*"]`:                         `.data["*"]`, // a key of that name
	} {
		p, err := fieldpath.ParsePattern(text)
		if err != nil || p.String() != want {
			t.Errorf("%s: %s, %v; want %s", text, p, err, want)
		}
		if _, exact := p.Path(); exact != !strings.Contains(want, "[*]") {
			t.Errorf("%s: pattern without wildcards = %v", text, exact)
		}
	}
	for text, want := range map[string]string{
		``:           `path "", column 1: the path is empty`,
		`.a[*`:       `path ".a[*", column 5: expected "]"`,
		`.a[*]b`:     `path ".a[*]b", column 6: expected "." or "["`,
		` .a[*=1]].`: `path " .a[*=1]].", column 9: expected "." or "["`,
	} {
		if p, err := fieldpath.ParsePattern(text); err == nil || err.Error() != want {
			t.Errorf("%q: %s, %v; want %s", text, p, err, want)
		}
	}
}

// Each pattern that was parsed is formatted as a text that parses to the same pattern.
func FuzzParsePattern(f *testing.F) {
	for _, seed := range []string{`.a[*].b`, `*`, `[*]`, `["*"]`, `.a[b=*]`, `.a[=*]`, `.*.*`, `.a[*=1]`, ` .a `} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := fieldpath.ParsePattern(text)
		if err != nil {
			return
		}
		again, err := fieldpath.ParsePattern(p.String())
		if err != nil || again.String() != p.String() {
			t.Fatalf("%q is written as %q, which is read as %q, %v", text, p, again, err)
		}
		if path, exact := p.Path(); exact != p.Matches(path) && exact {
			t.Fatalf("%q does not match itself", text)
		}
	})
}

// oracle returns the paths that a pattern matches. It finds them by comparing texts.
func oracle(p fieldpath.Pattern, paths []fieldpath.Path, below string) []string {
	text := regexp.QuoteMeta(p.String())
	text = strings.ReplaceAll(text, regexp.QuoteMeta("[*]"), `(?:\.[A-Za-z0-9_-]+|\[(?:[^"\]]|"(?:[^"\\]|\\.)*")*\])`)
	all := regexp.MustCompile("^" + text + below + "$")
	var out []string
	for _, path := range paths {
		if all.MatchString(path.String()) {
			out = append(out, path.String())
		}
	}
	return out
}

// A pattern matches a path in an object if the path's text is the pattern's text with each [*]
// replaced. It covers these paths and the paths below them.
func TestPatternMatchesAsWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 1))
	named, open := 0, 0
	for range 2000 {
		object := randomObject(r)
		paths := fieldpath.ManifestPaths(object)
		p := fieldpath.Pattern(paths[r.IntN(len(paths))].Clone())
		for i := range p {
			if r.IntN(3) == 0 {
				p[i] = fieldpath.Element{}
				open++
			}
		}
		var in []string
		for _, path := range p.In(object) {
			in = append(in, path.String())
			if _, has := path.Get(object); !has || !p.Matches(path) || !p.Covers(path) || !p.Means(object, path) {
				t.Fatalf("%s in %v: got %s, which is not in the object or does not match", p, object, path)
			}
		}
		slices.Sort(in)
		named += len(in)
		// ManifestPaths omits the identity of an object, because the identity has no owner.
		if want := sorted(oracle(p, paths, "")); len(want) == 0 || cmp.Diff(want, in) != "" {
			t.Fatalf("%s in %v (-want +got): %s", p, object, cmp.Diff(want, in))
		}
		var covered []string
		for _, path := range paths {
			if p.Covers(path) {
				covered = append(covered, path.String())
			}
		}
		if diff := cmp.Diff(sorted(oracle(p, paths, `(?:[.\[].*)?`)), sorted(covered)); diff != "" {
			t.Fatalf("%s covers in %v (-want +got): %s", p, object, diff)
		}
	}
	t.Logf("found %d paths with %d wildcards", named, open)
}

func sorted(texts []string) []string { slices.Sort(texts); return texts }

// randomObject has maps, keyed lists, lists of values and lists in lists.
func randomObject(r *rand.Rand) map[string]any {
	names := []string{"spec", "data", "app.kubernetes.io/name", "a b", "x"}
	var value func(depth int) any
	fields := func(depth int) map[string]any {
		out := map[string]any{}
		for range 1 + r.IntN(3) {
			out[names[r.IntN(len(names))]] = value(depth + 1)
		}
		return out
	}
	value = func(depth int) any {
		kind := r.IntN(4)
		if depth > 4 {
			kind = 0
		}
		switch kind {
		case 1:
			return fields(depth)
		case 2:
			var items []any
			for i := range r.IntN(4) {
				item := fields(depth)
				item["name"] = fmt.Sprint("n", i)
				items = append(items, item)
			}
			return items
		case 3:
			return []any{"b]c", int64(r.IntN(9)), `q"r`}
		}
		return int64(r.IntN(9))
	}
	return fields(0)
}

// Items get the keys in the field sets of their owners. An item with the same key as another item
// is omitted.
func TestPatternKeys(t *testing.T) {
	object := fieldstest.Content(t, `
spec:
  ports: [{port: 53, name: a}, {port: 53, protocol: UDP, name: b}]
  tolerations: [{key: x, operator: Exists}, {key: x, operator: Equal}, {key: z}]
  rules: [{uid: 1, host: a}, {uid: 2, host: b}]
`)
	held := fieldpath.NewSet(
		fieldstest.Path(t, `.spec.rules[host="a"].uid`), fieldstest.Path(t, `.spec.rules[host="b"].uid`),
	)
	for text, want := range map[string][]string{
		".spec.ports[*].name":       {`.spec.ports[port=53,protocol="TCP"].name`, `.spec.ports[port=53,protocol="UDP"].name`},
		".spec.tolerations[*].key":  {`.spec.tolerations[key="z"].key`},
		".spec.rules[*].uid":        {`.spec.rules[host="a"].uid`, `.spec.rules[host="b"].uid`},
		".spec.rules[host=b].uid":   {`.spec.rules[host="b"].uid`},
		".spec.ports[port=54].name": nil,
		".status[*]":                nil,
	} {
		p, err := fieldpath.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, path := range p.In(object, held) {
			got = append(got, path.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
