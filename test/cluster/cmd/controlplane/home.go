package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/internal/flock"
)

// home is the folder of a cluster that a user started.
type home string

func (h home) file(name string) string { return filepath.Join(string(h), name) }

func (h home) kubeconfig() string { return h.file("kubeconfig") } // exists when the cluster is ready
func (h home) lock() string       { return h.file("lock") }       // locked by the holder, and contains its pid
func (h home) log() string        { return h.file("controlplane.log") }
func (h home) cluster() string    { return h.file("cluster") }

// holder returns the pid of the process that holds the cluster, or 0. The pid cannot be stale,
// because the holder has the lock.
func (h home) holder() (int, error) {
	if _, err := os.Stat(h.lock()); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	lock, err := flock.Try(h.lock())
	if err != nil {
		return 0, err
	}
	if lock != nil {
		return 0, lock.Close()
	}
	// The holder writes its pid right after it takes the lock.
	pid, err := readPid(h.lock())
	for end := time.Now().Add(time.Second); err != nil && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		pid, err = readPid(h.lock())
	}
	return pid, err
}

func (h home) ready() bool {
	_, err := os.Stat(h.kubeconfig())
	return err == nil
}

// members returns the pids of the cluster's running programs, by name.
func (h home) members() (map[string]int, error) {
	files, err := filepath.Glob(filepath.Join(h.cluster(), "*.pid"))
	if err != nil {
		return nil, err
	}
	members := map[string]int{}
	for _, file := range files {
		pid, err := readPid(file)
		// The pid may belong to another process by now. All our programs have the folder in their
		// arguments.
		if err == nil && strings.Contains(commandLine(pid), h.cluster()) {
			members[strings.TrimSuffix(filepath.Base(file), ".pid")] = pid
		}
	}
	return members, nil
}

func readPid(path string) (int, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return pid, nil
}

// commandLine returns a process's command line, or "" if it has ended.
func commandLine(pid int) string {
	if syscall.Kill(pid, 0) != nil {
		return ""
	}
	if content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		return strings.ReplaceAll(string(content), "\x00", " ")
	}
	content, _ := exec.Command("ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return string(content)
}
