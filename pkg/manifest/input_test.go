package manifest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestInputs(t *testing.T) {
	files := map[string]string{
		"dir/b.yaml":         configMap("b"),
		"dir/a.yml":          configMap("a"),
		"dir/c.json":         `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}`,
		"dir/README.md":      "# not looked at: {{",
		"dir/sub/d.yaml":     configMap("d"),
		"dir/sub/e/f.yaml":   configMap("f"),
		"nested/sub/d.yaml":  configMap("d"),
		"empty/README.md":    "nothing",
		"named.txt":          configMap("named"),
		"mounted/..1/x.yaml": configMap("x"),
		"broken/a.yaml":      "a: b: c",
		"broken/b.yaml":      "kind: K\nmetadata: {}\n",
	}
	for name, tt := range map[string]struct {
		options Options
		want    []string
		wantErr []string
	}{
		"a file of any name":      {Options{Filenames: []string{"named.txt"}}, []string{"named.txt:1 ConfigMap/named"}, nil},
		"a folder, in name order": {Options{Filenames: []string{"dir"}}, []string{"dir/a.yml:1 ConfigMap/a", "dir/b.yaml:1 ConfigMap/b", "dir/c.json:1 ConfigMap/c"}, nil},
		"a folder with subfolders": {
			Options{Filenames: []string{"dir/"}, Recursive: true},
			[]string{"dir/a.yml:1 ConfigMap/a", "dir/b.yaml:1 ConfigMap/b", "dir/c.json:1 ConfigMap/c", "dir/sub/d.yaml:1 ConfigMap/d", "dir/sub/e/f.yaml:1 ConfigMap/f"},
			nil,
		},
		"in the order of the flags":         {Options{Filenames: []string{"named.txt", "dir/b.yaml"}}, []string{"named.txt:1 ConfigMap/named", "dir/b.yaml:1 ConfigMap/b"}, nil},
		"named twice, read once":            {Options{Filenames: []string{"dir/b.yaml", "./dir/b.yaml", "dir/sub", "dir/sub/d.yaml"}}, []string{"dir/b.yaml:1 ConfigMap/b", "dir/sub/d.yaml:1 ConfigMap/d"}, nil},
		"a pattern":                         {Options{Filenames: []string{"dir/*.y*ml"}}, []string{"dir/a.yml:1 ConfigMap/a", "dir/b.yaml:1 ConfigMap/b"}, nil},
		"a link to a file":                  {Options{Filenames: []string{"linked"}}, []string{"linked/link.yaml:1 ConfigMap/b"}, nil},
		"a link to a folder, named":         {Options{Filenames: []string{"dirlink"}}, []string{"dirlink/d.yaml:1 ConfigMap/d"}, nil},
		"links to folders are not followed": {Options{Filenames: []string{"linked"}, Recursive: true}, []string{"linked/link.yaml:1 ConfigMap/b"}, nil},
		"a mounted ConfigMap":               {Options{Filenames: []string{"mounted"}, Recursive: true}, []string{"mounted/x.yaml:1 ConfigMap/x"}, nil},
		"standard input":                    {Options{Filenames: []string{"-"}, In: strings.NewReader("\n" + configMap("a"))}, []string{"-:2 ConfigMap/a"}, nil},
		"standard input, named twice":       {Options{Filenames: []string{"-", "-"}, In: strings.NewReader(configMap("a"))}, []string{"-:1 ConfigMap/a"}, nil},

		"nothing named":             {Options{}, nil, []string{"nothing to read", "  pass files with -f, or a kustomization with -k"}},
		"an empty name":             {Options{Filenames: []string{""}}, nil, []string{"-f needs the name of a file"}},
		"a missing file":            {Options{Filenames: []string{"nope.yaml"}}, nil, []string{"nope.yaml: no such file or directory"}},
		"a pattern without matches": {Options{Filenames: []string{"nope/*.yaml"}}, nil, []string{"nope/*.yaml: no such file or directory"}},
		"an empty folder":           {Options{Filenames: []string{"empty"}, Recursive: true}, nil, []string{"empty: no .yaml, .yml or .json file in this folder"}},
		"a folder of folders": {
			Options{Filenames: []string{"nested"}},
			nil,
			[]string{"nested: no .yaml, .yml or .json file in this folder", "  -R also reads its subfolders"},
		},
		"a dangling link":      {Options{Filenames: []string{"dangling"}}, nil, []string{"dangling/x.yaml: no such file or directory"}},
		"a pipe in a folder":   {Options{Filenames: []string{"pipe"}}, nil, []string{"pipe/p.yaml: neither a regular file nor a folder"}},
		"no standard input":    {Options{Filenames: []string{"-"}}, nil, []string{"-: standard input is not available"}},
		"standard input fails": {Options{Filenames: []string{"-"}, In: failing{}}, nil, []string{"-: torn off"}},
		"-k and -f":            {Options{Filenames: []string{"dir"}, Kustomize: "dir"}, nil, []string{"-k cannot be used with -f or -R"}},
		"-k and -R":            {Options{Recursive: true, Kustomize: "dir"}, nil, []string{"-k cannot be used with -f or -R"}},
		"all errors of all files": {
			Options{Filenames: []string{"nope", "broken", "empty", "dir"}},
			nil,
			[]string{
				"nope: no such file or directory",
				"empty: no .yaml, .yml or .json file in this folder",
				"broken/a.yaml:1: not YAML: mapping values are not allowed in this context",
				"broken/b.yaml:1: K: .apiVersion is missing", "broken/b.yaml:2: K: .metadata.name is missing",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, files)
			special(t)
			res, err := Read(t.Context(), tt.options)
			if diff := cmp.Diff(tt.wantErr, lines(err)); diff != "" {
				t.Fatalf("errors (-want +got):\n%s", diff)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(tt.want, places(res)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

// special creates links and a pipe.
func special(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"linked", "dangling", "pipe"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"linked/link.yaml": "../dir/b.yaml", "linked/more.yaml": "../dir/sub", "dirlink": "dir/sub", "dangling/x.yaml": "nope",
		"mounted/..data": "..1", "mounted/x.yaml": "..data/x.yaml",
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo("pipe/p.yaml", 0o600); err != nil {
		t.Fatal(err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("torn off") }

// As in kubectl, a block scalar at the end of a file ends with a newline even if the file does not.
func TestLastLineWithoutNewline(t *testing.T) {
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata:\n  a: |\n    one\n    two"
	for _, input := range []string{text, text + "\n", text + "\n---\n" + strings.Replace(text, "NAME", "other", 1), text + "\r\n"} {
		res, err := Read(t.Context(), Options{Filenames: []string{"-"}, In: strings.NewReader(input)})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range res.Objects {
			if got, _, _ := unstructured.NestedString(o.Object.Object, "data", "a"); got != "one\ntwo\n" {
				t.Errorf("%q: %q", input, got)
			}
		}
	}
}

func TestMissingFileIsErrNotExist(t *testing.T) {
	_, err := Read(t.Context(), Options{Filenames: []string{t.TempDir() + "/nope"}})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
}

// If standard input or a named pipe is silent, the read ends together with ctx.
func TestSilentInputEndsWithContext(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("p.yaml", 0o600); err != nil {
		t.Fatal(err)
	}
	in, _ := io.Pipe()
	for name, o := range map[string]Options{
		"standard input": {Filenames: []string{"-"}, In: in},
		"a named pipe":   {Filenames: []string{"p.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if _, err := Read(ctx, o); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got error %v, want the deadline error", err)
			}
		})
	}
}

func TestTooLarge(t *testing.T) {
	_, err := readAll("/dev/zero", endless{}, 1<<20)
	if diff := cmp.Diff([]string{"/dev/zero: larger than 1 MiB"}, lines(err)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if text, err := readAll("-", io.LimitReader(endless{}, 1<<20), 1<<20); err != nil || len(text) != 1<<20 {
		t.Errorf("got %d bytes, error %v, want input of the limit's size to be read", len(text), err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestSelector(t *testing.T) {
	labelled := configMap("a") + "  labels: {app: web, tier: front}\n"
	copied := configMap("b") + "  uid: x\n  labels: {app: db, empty: null}\n"
	for name, tt := range map[string]struct {
		selector string
		want     []string
		warnings int
		wantErr  []string
	}{
		"none":             {"", []string{"app.yaml:1 ConfigMap/a", "app.yaml:7 ConfigMap/b"}, 1, nil},
		"equal":            {"app=web", []string{"app.yaml:1 ConfigMap/a"}, 0, nil},
		"in a set":         {"app in (db,cache)", []string{"app.yaml:7 ConfigMap/b"}, 1, nil},
		"a label of null":  {"empty=", []string{"app.yaml:7 ConfigMap/b"}, 1, nil},
		"matching nothing": {"app=x", nil, 0, []string{"-l app=x: no object in the input matches"}},
		"malformed":        {"app=,=", nil, 0, []string{"-l app=,=: found '=', expected: identifier after ','"}},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, map[string]string{"app.yaml": labelled + "---\n" + copied})
			res, err := Read(t.Context(), Options{Filenames: []string{"app.yaml"}, Selector: tt.selector})
			if diff := cmp.Diff(tt.wantErr, lines(err)); diff != "" {
				t.Fatalf("errors (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, places(res)); diff != "" || len(res.Warnings) != tt.warnings {
				t.Errorf("objects (-want +got), %d warnings:\n%s", len(res.Warnings), diff)
			}
		})
	}
}
