package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/bench/lab"
)

// TestMain lets the test binary launch what is measured, as the program does.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == lab.VerbLaunch {
		if err := lab.Launch(context.Background(), os.Args[2], os.Args[3:]); err != nil {
			os.Exit(2)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// It is the program's own time that counts, over many calls; one that fails is not
// measured.
func TestMeasureStartup(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "plugin")
	script := "#!/bin/sh\necho \"$*\" >> " + dir + "/calls\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := measureStartup(t.Context(), dir, program)
	if err != nil {
		t.Fatal(err)
	}
	if s.Bytes != int64(len(script)) || len(s.CPU) != startupCalls || len(s.Help) != startupCalls || len(s.Local) != startupCalls {
		t.Errorf("%+v", s)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil || string(calls) != strings.Repeat("version --client\n", startupCalls)+strings.Repeat("--help\n", startupCalls)+strings.Repeat("wait --local -f "+filepath.Join(dir, "recorded.yaml")+"\n", startupCalls) {
		t.Errorf("%v: %q", err, calls)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho broken\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if s, err := measureStartup(t.Context(), dir, program); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("%+v, %v", s, err)
	}
}
