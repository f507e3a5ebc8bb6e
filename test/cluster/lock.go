package cluster

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock on path, or returns nil if somebody else has it. The
// kernel gives the lock back when the file is closed, so also when its owner dies.
func tryLock(path string) (*os.File, error) {
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
