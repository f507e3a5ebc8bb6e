package cluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// process is a program of the control plane.
type process struct {
	name   string
	binary string
	args   []string
	log    string
	pid    int
	done   chan struct{} // closed when it has ended
	err    error         // why it ended; valid after done
}

// envGOGC is the variable with the GOGC of a cluster's programs.
const envGOGC = "CLUSTER_GOGC"

// startProcess starts a program in dir. It ends with this process, even if this process is killed:
// see dieWithParent.
func startProcess(dir, name, binary string, args ...string) (*process, error) {
	p := &process{
		name: name, binary: binary, args: args,
		log:  filepath.Join(dir, name+".log"),
		done: make(chan struct{}),
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	// No settings of the user: no HOME, no HTTPS_PROXY, no KUBECONFIG.
	cmd.Env = []string{"HOME=" + dir, "TMPDIR=" + os.TempDir(), "PATH=" + os.Getenv("PATH")}
	// An API server grows the stack of each request several times over. Stacks that start at the average
	// size save 6 % of its CPU.
	cmd.Env = append(cmd.Env, "GODEBUG=adaptivestackstart=1")
	if often := os.Getenv(envGOGC); often != "" {
		cmd.Env = append(cmd.Env, "GOGC="+often)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)

	started := make(chan error)
	go func() {
		// Linux kills the child when the thread that started it ends, so the thread has to live as
		// long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.pid = cmd.Process.Pid
	if err := os.WriteFile(p.pidFile(), []byte(strconv.Itoa(p.pid)+"\n"), 0o644); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

func (p *process) pidFile() string { return strings.TrimSuffix(p.log, ".log") + ".pid" }

// signal signals the process group, unless it has ended.
func (p *process) signal(signal syscall.Signal) {
	if !p.ended() {
		_ = syscall.Kill(-p.pid, signal)
	}
}

// kill kills the process and waits for its end.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
	_ = os.Remove(p.pidFile())
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// failure returns an error for a process that has ended, with the end of its log.
func (p *process) failure() error {
	if !p.ended() {
		return nil
	}
	reason := p.err
	if reason == nil {
		reason = errors.New("exit status 0")
	}
	return fmt.Errorf("%s ended: %w; the end of its log:\n%s", p.name, reason, p.tail())
}

// tail returns the last lines of the log.
func (p *process) tail() string {
	const size, lines = 8 << 10, 20
	file, err := os.Open(p.log)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = file.Close() }()
	if end, err := file.Seek(0, io.SeekEnd); err == nil {
		_, _ = file.Seek(max(0, end-size), io.SeekStart)
	}
	content, _ := io.ReadAll(file)
	all := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
