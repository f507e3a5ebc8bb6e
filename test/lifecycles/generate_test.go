package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
)

// source writes a module with these files, by default a package example/v1beta1.
func source(t *testing.T, release string, files map[string]string) module {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := deprecation.ParseRelease(release)
	if err != nil {
		t.Fatal(err)
	}
	return module{pin: pin{path: apiModule, version: release}, dir: dir, release: r}
}

const register = "package v1beta1\n\nconst GroupName = \"example.com\"\n"

// methods returns prerelease-lifecycle-gen's methods for a kind.
func methods(kind, introduced, deprecated, removed string) string {
	one := func(name, release string) string {
		return "func (in *" + kind + ") APILifecycle" + name + "() (major, minor int) {\n\treturn 1, " + release + "\n}\n"
	}
	return one("Introduced", introduced) + one("Deprecated", deprecated) + one("Removed", removed)
}

// rows returns a table's lines without its head.
func rows(l lifecycles) []string {
	var out []string
	for line := range strings.Lines(string(l.text([]module{{}}))) {
		if !strings.HasPrefix(line, "#") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

func TestRead(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"methods": {
			map[string]string{
				"example/v1beta1/register.go": register,
				"example/v1beta1/zz_generated.prerelease-lifecycle.go": "package v1beta1\n" + methods("Widget", "20", "23", "26") +
					"func (in *Widget) APILifecycleReplacement() schema.GroupVersionKind {\n" +
					"\treturn schema.GroupVersionKind{Group: \"example.com\", Version: \"v1\", Kind: \"Widget\"}\n}\n",
			},
			[]string{"example.com Widget v1beta1 1.20 1.23 1.26 example.com/v1/Widget"},
		},
		"package without a group": {map[string]string{"example/v1beta1/types.go": "package v1beta1\n"}, nil},
	} {
		got, err := read(source(t, "1.30", tt.files).dir)
		if diff := cmp.Diff(tt.want, rows(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
}

func TestUnite(t *testing.T) {
	widget := func(release, deprecated, removed string) module {
		return source(t, release, map[string]string{
			"example/v1beta1/register.go":                          register,
			"example/v1beta1/zz_generated.prerelease-lifecycle.go": "package v1beta1\n" + methods("Widget", "20", deprecated, removed),
		})
	}
	empty := func(release string) module { return source(t, release, nil) }
	for name, tt := range map[string]struct {
		mods []module
		want []string
		err  string
	}{
		"newer release wins in any order": {
			[]module{widget("1.31", "24", "33"), widget("1.30", "23", "26")},
			[]string{"example.com Widget v1beta1 1.20 1.24 1.33 -"},
			"",
		},
		"removed before its date": {
			[]module{widget("1.30", "32", "35"), empty("1.31")},
			[]string{"example.com Widget v1beta1 1.20 1.31 1.31 -"},
			"",
		},
		"removed after its date": {
			[]module{widget("1.30", "23", "26"), empty("1.31")},
			[]string{"example.com Widget v1beta1 1.20 1.23 1.26 -"},
			"",
		},
		"a minor is missing":       {[]module{widget("1.30", "23", "26"), empty("1.32")}, nil, "a minor is missing"},
		"removed, then deprecated": {[]module{widget("1.30", "26", "23")}, nil, "removed in 1.23, deprecated in 1.26"},
	} {
		got, err := unite(tt.mods, nil)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", name, err, tt.err)
		}
		if diff := cmp.Diff(tt.want, rows(got)); diff != "" && err == nil {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

func TestOverlay(t *testing.T) {
	for name, tt := range map[string]struct{ text, want, err string }{
		"the core group":      {"- Endpoints v1 1.0 1.33 - discovery.k8s.io/v1/EndpointSlice # KEP-4974\n", "- Endpoints v1 1.0 1.33 - discovery.k8s.io/v1/EndpointSlice", ""},
		"no source":           {"- Endpoints v1 1.0 1.33 - -\n", "", "a source"},
		"too few cells":       {"- Endpoints v1 1.0 # why\n", "", "seven cells"},
		"invalid release":     {"- Endpoints v1 soon - - - # why\n", "", "soon"},
		"invalid replacement": {"- Endpoints v1 1.0 1.33 - EndpointSlice # why\n", "", "group/version/Kind"},
		"only a comment":      {"# nothing\n\n", "", ""},
	} {
		path := filepath.Join(t.TempDir(), "overlay.txt")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readOverlay(path)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", name, err, tt.err)
		}
		if text := strings.Join(rows(got), "\n"); text != tt.want {
			t.Errorf("%s: %q, want %q", name, text, tt.want)
		}
	}
}

// Only pinned modules are read.
func TestDecode(t *testing.T) {
	info := filepath.Join(t.TempDir(), "info")
	if err := os.WriteFile(info, []byte(`{"Version":"v0.37.2","Time":"2026-10-28T23:53:31-07:00"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	pinned := pin{apiModule, "v0.37.2", "h1:right"}
	answer := func(sum string) string {
		return `{"Path":"k8s.io/api","Version":"v0.37.2","Sum":"` + sum + `","Dir":"/d","Info":"` + info + `"}`
	}
	for name, tt := range map[string]struct{ out, err string }{
		"pinned":           {answer("h1:right"), ""},
		"another checksum": {answer("h1:wrong"), "is h1:wrong, pinned is"},
		"no output":        {"", "k8s.io/api: EOF"},
		"missing module":   {`{"Path":"k8s.io/api","Version":"v0.37.2","Error":"404"}`, "404"},
		"invalid output":   {"<html>", "invalid character"},
	} {
		got, err := decode([]byte(tt.out), []pin{pinned})
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", name, err, tt.err)
		}
		if err == nil && (got[0].date != "2026-10-29" || got[0].release != deprecation.Release{Major: 1, Minor: 37}) {
			t.Errorf("%s: %+v", name, got[0])
		}
	}
}

func TestDocumented(t *testing.T) {
	types := "package v1\n\ntype WidgetSpec struct {\n" +
		"\t// Size is one.\n\tSize int `json:\"size\"`\n" +
		"\t// Colour is one.\n\t// Deprecated: use paint.\n\tColour string `json:\"colour,omitempty\"`\n" +
		"\t// Inline is deprecated.\n\tPart `json:\",inline\"`\n}\n"
	m := source(t, "1.30", map[string]string{
		"example/v1/register.go": register, "example/v1/types.go": types,
		"example/v1beta1/register.go": register, "example/v1beta1/types.go": types,
	})
	got, err := documented(m.dir)
	if diff := cmp.Diff([]string{"example.com/v1 WidgetSpec.(inline)", "example.com/v1 WidgetSpec.colour"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}
