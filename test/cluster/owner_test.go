package cluster

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// envOwner makes the test binary start a cluster and wait to be killed.
const envOwner = "CLUSTER_TEST_OWNER"

// ownerMain is the owner's main function. It prints its cluster's processes.
func ownerMain() bool {
	dir := os.Getenv(envOwner)
	if dir == "" {
		return false
	}
	c, err := Start(context.Background(), Options{Nodes: 1, Dir: dir})
	if err != nil {
		fmt.Println(err)
		return true
	}
	for _, p := range c.running() {
		fmt.Println(p.pid)
	}
	fmt.Println("ready")
	select {}
}

func TestKilledOwnerLeavesNothing(t *testing.T) {
	t.Parallel()
	skipShort(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a process to its parent")
	}
	owner := exec.CommandContext(t.Context(), os.Args[0])
	owner.Env = append(os.Environ(), envOwner+"="+t.TempDir())
	out := must[io.ReadCloser](t)(owner.StdoutPipe())
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "ready"; {
		pids = append(pids, must[int](t)(strconv.Atoi(lines.Text())))
	}
	if len(pids) != 5 {
		t.Fatalf("the owner has %d processes, want 5", len(pids))
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	for _, pid := range pids {
		eventually(t, fmt.Sprintf("process %d is gone", pid), func() bool { return gone(pid) })
	}
}

// gone also returns true for a zombie that its new parent has not reaped yet.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(state, "Z")
}
