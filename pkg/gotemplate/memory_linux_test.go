package gotemplate

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"syscall"
	"testing"
)

const hungryChild = "TEST_HUNGRY_TEMPLATES"

// The templates that would make gigabytes end with an error in a
// process that could not have them.
func TestHungryTemplates(t *testing.T) {
	if os.Getenv(hungryChild) != "" {
		eatWithin(t)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHungryTemplates$", "-test.v")
	cmd.Env = append(os.Environ(), hungryChild+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		if len(out) > 3000 {
			out = out[:3000]
		}
		t.Errorf("%v\n%s", err, out)
	}
}

func eatWithin(t *testing.T) {
	const limit = 768 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		t.Fatal(err)
	}
	debug.SetMemoryLimit(limit / 2) // Garbage is no reason to end at the limit.
	if err := feedHungry(); err != nil {
		t.Fatal(err)
	}
	fmt.Println("fed")
}
