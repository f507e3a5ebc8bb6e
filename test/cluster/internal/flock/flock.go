// Package flock locks files between processes. The kernel gives a lock back
// when its file is closed, so also when its owner is killed: unlike a pid file,
// a lock cannot be stale.
//
//	lock, err := flock.Wait(ctx, path)
//	if err != nil { … }
//	defer lock.Close()
package flock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Try takes the lock on path, creating the file if necessary. It returns nil and no error if
// another process has the lock.
func Try(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return file, nil
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, &os.PathError{Op: "flock", Path: path, Err: err}
}

// Wait takes the lock on path as soon as it is free.
func Wait(ctx context.Context, path string) (*os.File, error) {
	for {
		file, err := Try(path)
		if file != nil || err != nil {
			return file, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the lock %s: %w", path, context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
