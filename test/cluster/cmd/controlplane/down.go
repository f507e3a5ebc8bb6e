package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// patience is how long a process may take to end before it is killed.
const patience = 10 * time.Second

// down ends the cluster, including leftovers, and removes its folder.
func (h home) down(ctx context.Context) error {
	if _, err := os.Stat(string(h)); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(os.Stderr, "no cluster is up")
		return nil
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		err := h.await(ctx, func() (bool, error) {
			holder, err := h.holder()
			if holder != 0 {
				_ = syscall.Kill(holder, signal)
			}
			return holder == 0, err
		})
		if err == nil {
			break
		}
		if !errors.Is(err, errImpatient) {
			return err
		}
	}
	if err := h.clean(ctx); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "the cluster is down")
	return nil
}

// clean kills processes that a dead holder left behind, and removes our files from the folder.
func (h home) clean(ctx context.Context) error {
	err := h.await(ctx, func() (bool, error) {
		members, err := h.members()
		for _, pid := range members {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(members) == 0, err
	})
	if err != nil {
		return err
	}
	for _, path := range []string{h.cluster(), h.kubeconfig(), h.log(), h.lock()} {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	_ = os.Remove(string(h)) // stays if it contains other files
	return nil
}

var errImpatient = errors.New("a process does not end")

func (h home) await(ctx context.Context, done func() (bool, error)) error {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errImpatient
}

// status prints the running programs.
func (h home) status() error {
	holder, err := h.holder()
	if err != nil {
		return err
	}
	members, err := h.members()
	if err != nil {
		return err
	}
	if holder == 0 && len(members) == 0 {
		fmt.Println("no cluster is up")
		return nil
	}
	state := "up"
	if !h.ready() {
		state = "starting"
	}
	if holder == 0 {
		state = "half dead; `down` or `up` will clean up"
	}
	fmt.Printf("%s (process %d)\n", state, holder)
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"} {
		if pid, ok := members[name]; ok {
			fmt.Printf("  %-24s process %d\n", name, pid)
		}
	}
	if h.ready() {
		return h.export()
	}
	return nil
}
