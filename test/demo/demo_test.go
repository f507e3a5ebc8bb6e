// Package demo tests the tour of `make demo`.
package demo

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2e/plugin"
)

// The tour needs no network once everything is built, and leaves no processes or files behind.
func TestDemoOffline(t *testing.T) {
	d := start(t, script(), "GOPROXY=off")
	if err := d.wait(); err != nil || !strings.Contains(d.message(), "everything is torn down") {
		t.Errorf("%v:\n%s", err, d.message())
	}
	d.checkNothingLeft()
}

// Given a control plane of the right version, the tour builds only the plugin.
func TestDemoWithAssets(t *testing.T) {
	circle.Full(t)
	real, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	assets := t.TempDir()
	for _, program := range []string{"etcd", "kube-apiserver", "kubectl"} {
		found, err := filepath.Glob(filepath.Join(real, "kubectl-k8sconnect", "controlplane-*", program))
		if err != nil || len(found) == 0 {
			t.Skip("the control plane is not built: make cluster-build")
		}
		if err := os.Symlink(found[len(found)-1], filepath.Join(assets, program)); err != nil {
			t.Fatal(err)
		}
	}
	d := start(t, script(), append(emptyCache(t), "GOPROXY=off", "KUBEBUILDER_ASSETS="+assets)...)
	if err := d.wait(); err != nil || !strings.Contains(d.message(), "everything is torn down") {
		t.Errorf("%v:\n%s", err, d.message())
	}
	if message := d.message(); !strings.Contains(message, "KUBEBUILDER_ASSETS: "+assets) || strings.Contains(message, "building etcd") {
		t.Errorf("the tour does not use the control plane in KUBEBUILDER_ASSETS:\n%s", message)
	}
	d.checkNothingLeft()
}

// Without a network and without a build, the tour fails and says why.
func TestDemoOfflineAndCold(t *testing.T) {
	circle.Full(t)
	d := start(t, script(), append(emptyCache(t), "GOPROXY=off", "GOFLAGS=-modcacherw", "GOMODCACHE="+t.TempDir())...)
	if err := d.wait(); err == nil || !strings.Contains(d.message(), "GOPROXY=off") {
		t.Errorf("%v:\n%s", err, d.message())
	}
	d.checkNothingLeft()
}

// After an interrupt at any point, no process of the demo continues.
func TestDemoInterrupted(t *testing.T) {
	circle.Full(t)
	for _, test := range []struct {
		when  string // short: Linux limits a socket's path to 107 bytes
		until func(*demo) bool
		cold  bool

		command []string // the script by default
		signal  syscall.Signal
		group   bool // as from a terminal; otherwise only the script, as by kill
	}{
		{when: "plugin", until: runs("compile", "link"), cold: true, signal: syscall.SIGINT, group: true},
		{when: "etcd built", until: all(says("building etcd (1 of 3)"), runs("compile", "link")), cold: true, signal: syscall.SIGTERM},
		{when: "kube-apiserver built", until: all(says("building kube-apiserver (2 of 3)"), runs("compile", "link")), cold: true, signal: syscall.SIGINT, group: true},
		{when: "etcd runs", until: runs("etcd"), signal: syscall.SIGINT},
		{when: "kube-apiserver runs", until: runs("kube-apiserver"), signal: syscall.SIGTERM, group: true},
		{when: "make", until: runs("kube-apiserver"), command: []string{"make", "--directory=../..", "demo"}, signal: syscall.SIGTERM},
		{when: "applied", until: says("created     namespace/shop"), signal: syscall.SIGTERM},
		{when: "scaled", until: says("deployment.apps/web scaled"), signal: syscall.SIGHUP, group: true},
	} {
		t.Run(test.when, func(t *testing.T) {
			env := []string{"GOPROXY=off"}
			if test.cold {
				env = append(env, emptyCache(t)...)
			}
			command := test.command
			if command == nil {
				command = script()
			}
			d := start(t, command, env...)
			d.reaches(test.until)
			pid := d.cmd.Process.Pid
			if test.group {
				pid = -pid
			}
			if err := syscall.Kill(pid, test.signal); err != nil {
				t.Fatal(err)
			}
			if err := d.wait(); err == nil {
				t.Errorf("the tour did not fail after the signal:\n%s", d.message())
			}
			d.checkNothingLeft()
		})
	}
}

// The demo cannot clean up after SIGKILL. Still its processes end, and leftovers do not affect the
// next tour.
func TestDemoKilled(t *testing.T) {
	circle.Full(t)
	for when, until := range map[string]func(*demo) bool{
		"while etcd starts": runs("etcd"),
		"amid":              says("created     namespace/shop"),
	} {
		t.Run(when, func(t *testing.T) {
			d := start(t, script(), "GOPROXY=off")
			d.reaches(until)
			if err := d.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = d.wait() // killed
			for begin := time.Now(); len(d.processes()) > 0; time.Sleep(20 * time.Millisecond) {
				if time.Since(begin) > 10*time.Minute {
					t.Fatalf("still running: %v\n%s", d.processes(), d.message())
				}
			}
		})
	}
	d := start(t, script(), "GOPROXY=off")
	if err := d.wait(); err != nil || !strings.Contains(d.message(), "everything is torn down") {
		t.Errorf("%v:\n%s", err, d.message())
	}
	d.checkNothingLeft()
}

// reaches waits until the tour has printed a text.
func (d *demo) reaches(so func(*demo) bool) {
	d.t.Helper()
	for !so(d) {
		select {
		case <-d.ended:
			d.t.Fatalf("the tour ended before it reached the expected point:\n%s", d.message())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func runs(programs ...string) func(*demo) bool {
	return func(d *demo) bool {
		for _, line := range d.processes() {
			program, _, _ := strings.Cut(line, " ")
			if slices.Contains(programs, filepath.Base(program)) {
				return true
			}
		}
		return false
	}
}

func all(conditions ...func(*demo) bool) func(*demo) bool {
	return func(d *demo) bool {
		return !slices.ContainsFunc(conditions, func(holds func(*demo) bool) bool { return !holds(d) })
	}
}

func says(texts ...string) func(*demo) bool {
	return func(d *demo) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(d.message(), text) })
	}
}

// demo is a run of the tour. Its processes have its temporary folder in their environment, which
// identifies them.
type demo struct {
	t     *testing.T
	cmd   *exec.Cmd
	tmp   string
	ended chan struct{}
	err   error // valid after ended

	mu  sync.Mutex
	out bytes.Buffer
}

func script() []string { return []string{"bash", "demo.sh"} }

func start(t *testing.T, command []string, env ...string) *demo {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	plugin.HeedSignals()
	d := &demo{t: t, tmp: t.TempDir(), ended: make(chan struct{})}
	// Not the test's context: only the script itself may end its processes.
	d.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), command[0], command[1:]...)
	d.cmd.Env = slices.Concat(os.Environ(), []string{"TMPDIR=" + d.tmp, "NO_COLOR=1", "KUBEBUILDER_ASSETS=", "MAKEFLAGS="}, env)
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	d.cmd.Stdout, d.cmd.Stderr = d, d
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { d.err = d.cmd.Wait(); close(d.ended) }()
	t.Cleanup(func() {
		_ = syscall.Kill(d.cmd.Process.Pid, syscall.SIGTERM)
		<-d.ended
		for pid := range d.processes() { // left by a failed tour
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return d
}

// Write implements io.Writer.
func (d *demo) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.out.Write(p)
}

func (d *demo) message() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.out.String()
}

func (d *demo) wait() error {
	<-d.ended
	return d.err
}

func (d *demo) checkNothingLeft() {
	d.t.Helper()
	if left := d.processes(); len(left) > 0 {
		d.t.Errorf("still running: %v\n%s", left, d.message())
	}
	if left, err := os.ReadDir(d.tmp); err != nil || len(left) > 0 {
		d.t.Errorf("left behind: %v, %v\n%s", left, err, d.message())
	}
}

// processes returns the command lines of the tour's processes, by pid.
func (d *demo) processes() map[int]string {
	d.t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		d.t.Fatal(err)
	}
	lines := map[int]string{}
	for _, path := range found {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte("TMPDIR="+d.tmp+"\x00")) {
			continue // it has ended, or belongs to another user
		}
		line, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		pid, malformed := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && malformed == nil && len(line) > 0 {
			lines[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return lines
}

// emptyCache hides earlier builds, but not Go's build cache.
func emptyCache(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"XDG_CACHE_HOME=" + t.TempDir(), "HOME=" + os.Getenv("HOME"), "GOCACHE=" + strings.TrimSpace(string(out))}
}
