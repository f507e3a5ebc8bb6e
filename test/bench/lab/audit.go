package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// audit reads the API server's audit log as it grows. It counts every tool's
// requests by the same means, and only that tool's: each is a user of its own.
type audit struct {
	file *os.File
	rest []byte // the part of a line that was still being written
}

func openAudit(path string) (*audit, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &audit{file: file}, nil
}

func (a *audit) close() { _ = a.file.Close() }

// skip passes over the present content of the log.
func (a *audit) skip() error {
	_, err := a.read("", map[string]int{})
	return err
}

// verbs returns how many requests of each verb a user has made since the last
// call. The server writes an event a moment after the client has its answer, so
// it waits until the log is quiet.
func (a *audit) verbs(ctx context.Context, user string) (map[string]int, error) {
	const quiet = 60 * time.Millisecond
	counts := map[string]int{}
	for grew := true; grew; {
		select {
		case <-time.After(quiet):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		var err error
		if grew, err = a.read(user, counts); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// read counts the new entries of the log, and reports whether there were any.
func (a *audit) read(user string, counts map[string]int) (bool, error) {
	content, err := io.ReadAll(a.file)
	if err != nil {
		return false, err
	}
	a.rest = append(a.rest, content...)
	for {
		line, rest, whole := bytes.Cut(a.rest, []byte("\n"))
		if !whole {
			return len(content) > 0, nil
		}
		a.rest = rest
		var event cluster.AuditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return false, err
		}
		// A long-running request has an event for its start as well.
		if event.User.Username == user && event.Stage != "ResponseStarted" {
			counts[event.Verb]++
		}
	}
}
