package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// controlplane runs the command, which is this test binary (TestMain).
func controlplane(t *testing.T, dir string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], append(args, "--dir", dir)...)
	cmd.Env = append(os.Environ(), "CONTROLPLANE_TEST_MAIN=1")
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func TestMain(m *testing.M) {
	if os.Getenv("CONTROLPLANE_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestUpAndDown(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane; not with -short")
	}
	dir := filepath.Join(t.TempDir(), "cluster")
	t.Cleanup(func() { _, _, _ = controlplane(t, dir, "down") })
	want := "export KUBECONFIG=" + filepath.Join(dir, "kubeconfig") + "\n"

	if stdout, stderr, err := controlplane(t, dir, "status"); err != nil || stdout != "no cluster is up\n" || stderr != "" {
		t.Errorf("status without a cluster: %v: %s%s", err, stdout, stderr)
	}
	if _, stderr, err := controlplane(t, dir, "down"); err != nil || stderr != "no cluster is up\n" {
		t.Errorf("down without a cluster: %v: %s", err, stderr)
	}
	stdout, stderr, err := controlplane(t, dir, "up", "--nodes", "0")
	if err != nil || stdout != want {
		t.Fatalf("up: %v: %s%s", err, stdout, stderr)
	}
	stdout, stderr, err = controlplane(t, dir, "up", "--nodes", "0")
	if err != nil || stdout != want || stderr != "the cluster is up already\n" {
		t.Errorf("up again: %v: %s%s", err, stdout, stderr)
	}
	stdout, _, err = controlplane(t, dir, "status")
	if err != nil || !strings.Contains(stdout, "kube-apiserver") || !strings.HasSuffix(stdout, want) {
		t.Errorf("status: %v: %s", err, stdout)
	}
	members := members(t, dir)
	if len(members) != 2 {
		t.Errorf("%v run, want etcd and kube-apiserver", members)
	}
	if _, stderr, err := controlplane(t, dir, "down"); err != nil || stderr != "the cluster is down\n" {
		t.Errorf("down: %v: %s", err, stderr)
	}
	for name, pid := range members {
		if commandLine(pid) != "" {
			t.Errorf("%s still runs", name)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestUpAndDownAfterKill(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane; not with -short")
	}
	dir := filepath.Join(t.TempDir(), "cluster")
	t.Cleanup(func() { _, _, _ = controlplane(t, dir, "down") })
	h := home(dir)

	// When the holder is killed, its cluster ends with it on Linux, but not elsewhere.
	if _, stderr, err := controlplane(t, dir, "up", "--nodes", "0"); err != nil {
		t.Fatal(err, stderr)
	}
	holder, err := h.holder()
	if err != nil || holder == 0 {
		t.Fatalf("holder %d, %v", holder, err)
	}
	_ = syscall.Kill(holder, syscall.SIGKILL)
	for holder != 0 { // the kernel takes a moment
		if holder, err = h.holder(); err != nil {
			t.Fatal(err)
		}
	}
	if _, stderr, err := controlplane(t, dir, "up", "--nodes", "0"); err != nil || !strings.Contains(stderr, "the cluster is up after") {
		t.Errorf("up after the holder was killed: %v: %s", err, stderr)
	}

	// A program of the cluster is killed; the holder lives.
	_ = syscall.Kill(members(t, dir)["etcd"], syscall.SIGKILL)
	if _, stderr, err := controlplane(t, dir, "down"); err != nil {
		t.Errorf("down after etcd was killed: %v: %s", err, stderr)
	}
}

func TestDownLeavesOthersAlone(t *testing.T) {
	dir := t.TempDir()
	h := home(dir)
	kept := h.file("notes.txt")
	stranger := exec.CommandContext(t.Context(), "sleep", "60")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stranger.Process.Kill(); _ = stranger.Wait() })
	for commandLine(stranger.Process.Pid) == "" { // A new process has none yet.
		time.Sleep(time.Millisecond)
	}
	if err := os.Mkdir(h.cluster(), 0o700); err != nil {
		t.Fatal(err)
	}
	// A stale process id that now belongs to another process.
	pid := []byte(strconv.Itoa(stranger.Process.Pid))
	for path, content := range map[string][]byte{kept: nil, filepath.Join(h.cluster(), "etcd.pid"): pid} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.down(t.Context()); err != nil {
		t.Error(err)
	}
	if commandLine(stranger.Process.Pid) == "" {
		t.Error("an unrelated process was killed")
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}

func members(t *testing.T, dir string) map[string]int {
	t.Helper()
	members, err := home(dir).members()
	if err != nil {
		t.Fatal(err)
	}
	return members
}
