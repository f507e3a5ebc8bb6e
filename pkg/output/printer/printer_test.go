package printer_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/printer"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the golden files")
	os.Exit(m.Run())
}

type written struct{ out, err string }

// run prints events with the given options. Its clock does not advance.
func run(t *testing.T, r printer.Report, o output.Options, events []event.Event) written {
	t.Helper()
	var out, err bytes.Buffer
	o.Out, o.Err = &out, &err
	if o.Now == nil {
		o.Now = noon
	}
	p, failure := printer.For(r, o)
	if failure != nil {
		t.Fatal(failure)
	}
	for _, e := range events {
		p.Print(e)
	}
	if failure := p.Close(t.Context()); failure != nil {
		t.Errorf("Close: %v", failure)
	}
	return written{out: out.String(), err: err.String()}
}

// golden compares both streams with a file in testdata, or rewrites it.
func golden(t *testing.T, name string, got written) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	text := "-- stdout --\n" + got.out + "-- stderr --\n" + got.err
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s differs (-want +got); run the tests with -update if it should:\n%s", file, diff)
	}
}

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func ago(d time.Duration) time.Time { return noon().Add(-d) }

func columns(n int) func() int { return func() int { return n } }

func path(t *testing.T, text string) fieldpath.Path {
	t.Helper()
	p, err := fieldpath.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ref(apiVersion, kind, namespace, name string) object.Ref {
	return object.Ref{GVK: schema.FromAPIVersionAndKind(apiVersion, kind), Namespace: namespace, Name: name}
}

// hinted is an error with a hint.
type hinted struct {
	error
	hint string
}

func (h hinted) Hint() string  { return h.hint }
func (h hinted) Unwrap() error { return h.error }
