package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// asProgram is set in the environment of a process that should run the program.
const asProgram = "TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// A command without a server starts quickly: package initialization allocates a bounded amount, per
// package and in total, no kubeconfig is read, and no file is written. `make bench` measures the
// time.
func TestStart(t *testing.T) {
	const (
		mostOfOne = 1 << 20 // bytes; client-go's scheme, the largest, takes 0.7 MB
		mostOfAll = 5 << 20 // bytes
		mostTimes = 36_000  // allocations
	)
	line := regexp.MustCompile(`(?m)^init (\S+) .* (\d+) bytes, (\d+) allocs$`)
	for _, args := range [][]string{{"version", "--client"}, {"--help"}, {"apply", "--help"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			home := t.TempDir()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), self, args...)
			// Reading a directory as a kubeconfig is an error.
			cmd.Env = append(os.Environ(), "HOME="+home, "KUBECONFIG="+t.TempDir(), "GODEBUG=inittrace=1", asProgram+"=1")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			traced := line.FindAllStringSubmatch(string(out), -1)
			if len(traced) < 50 {
				t.Fatalf("the runtime traced the initialisation of %d packages, want at least 50:\n%s", len(traced), out)
			}
			bytes, times := 0, 0
			for _, m := range traced {
				b, _ := strconv.Atoi(m[2])
				n, _ := strconv.Atoi(m[3])
				bytes, times = bytes+b, times+n
				if b > mostOfOne {
					t.Errorf("%s allocates %d bytes when it is initialised, want at most %d", m[1], b, mostOfOne)
				}
			}
			if bytes > mostOfAll || times > mostTimes {
				t.Errorf("%d bytes are allocated in %d pieces before main, want at most %d and %d", bytes, times, mostOfAll, mostTimes)
			}
			t.Logf("%d bytes in %d pieces", bytes, times)
			if written, _ := filepath.Glob(filepath.Join(home, "*")); len(written) > 0 {
				t.Errorf("it wrote %v", written)
			}
		})
	}
}
