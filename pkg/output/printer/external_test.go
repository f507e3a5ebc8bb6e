package printer_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

// Edge case 44: all arguments in KUBECTL_EXTERNAL_DIFF are passed on.
func TestParseExternal(t *testing.T) {
	tests := map[string]struct {
		command string
		want    []string
		fails   bool
	}{
		"none":      {command: " "},
		"program":   {command: "dyff", want: []string{"dyff"}},
		"arguments": {command: "diff -u -N --color=always", want: []string{"diff", "-u", "-N", "--color=always"}},
		"quotes":    {command: `meld --label "a b" 'c|d' e\ f`, want: []string{"meld", "--label", "a b", "c|d", "e f"}},
		"characters that kubectl drops (kc#1717)": {
			command: "diff --ignore-matching-lines=^[+-]x$ -I 'a.*' +%s",
			want:    []string{"diff", "--ignore-matching-lines=^[+-]x$", "-I", "a.*", "+%s"},
		},
		"a pipe":        {command: "diff -u | less", fails: true},
		"two commands":  {command: "diff -u; true", fails: true},
		"redirection":   {command: "diff -u >out", fails: true},
		"an open quote": {command: `diff "-u`, fails: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := output.ParseExternal(tt.command)
			if (err != nil) != tt.fails {
				t.Fatalf("got error %v, want an error: %t", err, tt.fails)
			}
			var words []string
			if got != nil {
				words = append([]string{got.Name}, got.Args...)
			}
			if diff := cmp.Diff(tt.want, words); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// exited is the error of a program that ran and failed.
type exited int

func (e exited) Error() string { return "exit status" }
func (e exited) ExitCode() int { return int(e) }

// program is a fake external program that records its input.
type program struct {
	files  map[string]string
	args   []string
	root   string
	answer error
	panics bool
}

func (p *program) run(_ context.Context, name string, args []string) error {
	p.args = append([]string{name}, args[:len(args)-2]...)
	p.files = map[string]string{}
	p.root = filepath.Dir(args[len(args)-1])
	for _, dir := range args[len(args)-2:] {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				return err
			}
			p.files[filepath.Base(dir)+"/"+entry.Name()] = string(text)
		}
	}
	if p.panics {
		panic("the program's fault")
	}
	return p.answer
}

func TestExternalDiff(t *testing.T) {
	p := &program{answer: exited(1)}
	external := &output.External{Name: "diff", Args: []string{"-u", "-N"}, Run: p.run}
	got := run(t, printer.OfDiff, output.Options{External: external}, diffStory(t))

	if diff := cmp.Diff([]string{"diff", "-u", "-N"}, p.args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	want := []string{
		"LIVE/apps.v1.Deployment.prod.web", "LIVE/v1.ConfigMap.prod.new", "LIVE/v1.Namespace..prod", "LIVE/v1.Secret.prod.token",
		"MERGED/apps.v1.Deployment.prod.web", "MERGED/v1.ConfigMap.prod.new", "MERGED/v1.Namespace..prod", "MERGED/v1.Secret.prod.token",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(p.files))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if text := p.files["LIVE/v1.Namespace..prod"]; text != "" {
		t.Errorf("the file of an object that does not exist yet is not empty: %q", text)
	}
	if text := p.files["MERGED/v1.Namespace..prod"]; !strings.Contains(text, "kind: Namespace") {
		t.Errorf("the file of an object to be created lacks its content: %q", text)
	}
	if _, err := os.Stat(p.root); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	if got.out != "" {
		t.Errorf("stdout belongs to the program, but the printer wrote: %s", got.out)
	}
	for _, note := range []string{"# contested  .spec.replicas", "# namespace prod is created by this set", "1 to delete"} {
		if !strings.Contains(got.err, note) {
			t.Errorf("no %q on stderr:\n%s", note, got.err)
		}
	}
}

func TestExternalDiffExitCodes(t *testing.T) {
	tests := map[string]struct {
		answer error
		fails  bool
	}{
		"no difference": {},
		"differences":   {answer: exited(1)},
		"trouble":       {answer: exited(2), fails: true},
		"killed":        {answer: exited(-1), fails: true},
		"not found":     {answer: os.ErrNotExist, fails: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &program{answer: tt.answer}
			err := compareWith(t, p, diffStory(t))
			if (err != nil) != tt.fails || tt.fails && !errors.Is(err, tt.answer) {
				t.Errorf("got error %v for a program that ends with %v", err, tt.answer)
			}
			if _, err := os.Stat(p.root); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the folder is still there: %v", err)
			}
		})
	}
}

func TestExternalDiffWithoutRun(t *testing.T) {
	if _, err := printer.For(printer.OfDiff, output.Options{External: &output.External{Name: "differ"}}); err == nil {
		t.Error("no error although nothing can run the program")
	}
}

// If nothing changes, the program is not run.
func TestExternalDiffWithoutChanges(t *testing.T) {
	p := &program{answer: errors.New("it ran")}
	if err := compareWith(t, p, []event.Event{event.Compared{Ref: web(), Action: event.None}}); err != nil {
		t.Error(err)
	}
}

func TestExternalDiffPanics(t *testing.T) {
	p := &program{panics: true}
	defer func() {
		if recover() == nil {
			t.Error("the panic was swallowed")
		}
		if _, err := os.Stat(p.root); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder is still there: %v", err)
		}
	}()
	_ = compareWith(t, p, diffStory(t))
}

func compareWith(t *testing.T, p *program, events []event.Event) error {
	t.Helper()
	external := &output.External{Name: "differ", Run: p.run}
	pr, err := printer.For(printer.OfDiff, output.Options{Out: &writes{}, Err: &writes{}, External: external})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		pr.Print(e)
	}
	return pr.Close(t.Context())
}
