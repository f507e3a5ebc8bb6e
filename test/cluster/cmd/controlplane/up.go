package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/internal/flock"
)

// up starts the cluster unless it runs, and prints the line for the shell to stdout: eval
// "$(controlplane up)".
func (h home) up(ctx context.Context, options cluster.Options, args []string) error {
	holder, err := h.holder()
	if err != nil {
		return err
	}
	if holder != 0 && h.ready() {
		fmt.Fprintln(os.Stderr, "the cluster is up already")
		return h.export()
	}
	if holder == 0 {
		if err := h.clean(ctx); err != nil { // leftovers of a killed holder
			return err
		}
		dir, err := cluster.Provide(ctx, os.Stderr, options)
		if err != nil {
			return err
		}
		args = append(args, "--binaries", dir)
	}
	start := time.Now()
	if err := h.startHolder(ctx, args); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "the cluster is up after %.1f s; logs are in %s\n", time.Since(start).Seconds(), h.cluster())
	return h.export()
}

func (h home) export() error {
	_, err := fmt.Printf("export KUBECONFIG=%s\n", h.kubeconfig())
	return err
}

// startHolder starts the process that holds the cluster, and returns when the cluster is
// ready. If another process is starting the same cluster, the new process ends at once,
// and startHolder waits for the other. When ctx ends first, so does the new process.
func (h home) startHolder(ctx context.Context, args []string) error {
	if err := os.MkdirAll(string(h), 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(h.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, append([]string{"hold"}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // outlives the terminal
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for !h.ready() {
		select {
		case <-ctx.Done():
			if ended != nil {
				_ = endHolder(cmd.Process, ended) // always an error, because a signal ends it
			}
			return fmt.Errorf("the cluster was not ready yet: %w", context.Cause(ctx))
		case err := <-ended:
			holder, other := h.holder()
			if holder == 0 || other != nil {
				content, _ := os.ReadFile(h.log())
				return errors.Join(fmt.Errorf("the cluster did not start: %w\n%s", err, content), other)
			}
			ended = nil // wait for the other holder
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// endHolder ends a holder and its cluster, and kills the holder if that takes too long.
func endHolder(holder *os.Process, ended <-chan error) error {
	_ = holder.Signal(syscall.SIGTERM)
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		_ = holder.Kill()
		return <-ended
	}
}

// hold runs the cluster until this process is ended.
func (h home) hold(ctx context.Context, options cluster.Options) error {
	// A process that calls holder also has the lock for a moment.
	patient, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	lock, err := flock.Wait(patient, h.lock())
	if err != nil {
		return fmt.Errorf("another process is starting this cluster: %w", err)
	}
	// The lock is not closed: it ends with this process, so `down` returns after the process has
	// ended.
	defer runtime.KeepAlive(lock)
	if err := lock.Truncate(0); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(lock, os.Getpid()); err != nil {
		return err
	}
	options.Dir = h.cluster()
	starting, stop := context.WithTimeout(ctx, 3*time.Minute)
	defer stop()
	c, err := cluster.Start(starting, options)
	if err != nil {
		return err
	}
	defer c.Stop()
	content, err := os.ReadFile(c.KubeconfigPath)
	if err != nil {
		return err
	}
	partial := h.kubeconfig() + ".partial"
	if err := os.WriteFile(partial, content, 0o600); err != nil {
		return err
	}
	if err := os.Rename(partial, h.kubeconfig()); err != nil {
		return err
	}
	<-ctx.Done()
	return c.Failure()
}

// whileRuns returns a context that also ends when the process with this pid ends; 0 stands for
// none.
func whileRuns(ctx context.Context, pid int) context.Context {
	if pid == 0 {
		return ctx
	}
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		for commandLine(pid) != "" {
			select {
			case <-ctx.Done():
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
		end(fmt.Errorf("process %d has ended", pid))
	}()
	return ctx
}
