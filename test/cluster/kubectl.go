package cluster

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// serveKubectl starts a process that runs kubectl's commands, and returns a program that forwards
// them to it. Starting kubectl for each command would take 0.08 s of CPU, and tests call it two
// thousand times.
func (c *Cluster) serveKubectl(real string) (string, error) {
	dir := filepath.Join(c.Dir, "bin")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.Symlink(real, filepath.Join(dir, "kubectl.real")); err != nil {
		return "", err
	}
	// A copy: through a link, the program could not tell which folder it was called in.
	client := filepath.Join(dir, kubectlProgram)
	program, err := os.ReadFile(filepath.Join(c.binaries, kubectlClient))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(client, program, 0o700); err != nil {
		return "", err
	}
	socket := filepath.Join(dir, "kubectl.sock")
	if c.kubectls, err = startProcess(c.Dir, kubectlServer, filepath.Join(c.binaries, kubectlServer), socket); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return client, c.poll(ctx, func() bool {
		_, err := os.Stat(socket)
		return !errors.Is(err, fs.ErrNotExist) || c.kubectls.ended()
	})
}
