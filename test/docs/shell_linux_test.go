package docs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/terminal"
)

// Columns is the terminal's width. The program has to truncate longer lines.
const Columns = 110

// Shell is a shell on a terminal that runs commands one by one. A command's effects, such as the
// working folder or a variable, last for the next one.
type Shell struct {
	cmd      *exec.Cmd
	commands io.WriteCloser
	screen   *os.File
	read     chan string
	held     string
}

// StartShell starts a shell in a folder, with only this environment.
func StartShell(ctx context.Context, dir string, environment []string) (*Shell, error) {
	screen, tty, err := terminal.Open(Columns)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tty.Close() }()
	cmd := exec.CommandContext(ctx, "bash", "--norc", "--noprofile")
	cmd.Dir, cmd.Env = dir, environment
	cmd.Stdout, cmd.Stderr = tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // so that all its processes can be ended
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	commands, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Shell{cmd: cmd, commands: commands, screen: screen, read: make(chan string)}
	go s.follow()
	return s, nil
}

func (s *Shell) follow() {
	defer close(s.read)
	piece := make([]byte, 1<<15)
	for {
		n, err := s.screen.Read(piece)
		if n > 0 {
			s.read <- string(piece[:n])
		}
		if err != nil {
			return
		}
	}
}

// ended marks the end of a command's output. No program prints it.
var ended = regexp.MustCompile("\x1e(\\d+)\x1e")

// Run types a command, and returns the terminal's output and the exit status.
func (s *Shell) Run(command string, timeout time.Duration) (sent string, status int, err error) {
	quoted := "'" + strings.ReplaceAll(command, "'", `'\''`) + "'"
	if _, err := fmt.Fprintf(s.commands, "eval %s </dev/null; printf '\\036%%d\\036' $?\n", quoted); err != nil {
		return "", 0, err
	}
	late := time.NewTimer(timeout)
	defer late.Stop()
	for {
		if m := ended.FindStringSubmatchIndex(s.held); m != nil {
			status, err = strconv.Atoi(s.held[m[2]:m[3]])
			sent, s.held = s.held[:m[0]], s.held[m[1]:]
			return sent, status, err
		}
		select {
		case piece, ok := <-s.read:
			if !ok {
				return s.held, 0, errors.New("the shell has ended")
			}
			s.held += piece
		case <-late.C:
			return s.held, 0, fmt.Errorf("not done in %s", timeout)
		}
	}
}

// Close ends the shell and its processes.
func (s *Shell) Close() {
	_ = s.commands.Close()
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	_ = s.cmd.Wait()
	_ = s.screen.Close()
	for range s.read { // drain its output
	}
}
