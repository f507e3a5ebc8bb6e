package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// EnvKubeconfig is the variable with the path of a kubeconfig. If it is set, ForTest and Shared use
// that cluster instead of starting one.
const EnvKubeconfig = "KUBECONFIG_E2E"

// startTimeout allows for a busy machine. A start takes three seconds.
const startTimeout = 3 * time.Minute

// ForTest returns a cluster for one test, and stops it when the test ends. It fails the test if one
// of the cluster's programs has ended unexpectedly. With -short, it skips the test.
func ForTest(t testing.TB, options Options) *Cluster {
	t.Helper()
	skipShort(t)
	c, err := startOrUse(options)
	if err != nil {
		t.Fatal(withHint(err))
	}
	t.Cleanup(func() {
		if err := c.Failure(); err != nil {
			t.Error(err)
		}
		c.Stop()
	})
	return c
}

// OwnOnly skips the test on an external cluster, which cannot be stopped and issues no
// certificates.
func (c *Cluster) OwnOnly(t testing.TB) {
	t.Helper()
	if c.External() {
		t.Skip(errExternal)
	}
}

// Shared is one cluster for all tests of a package, started by the first that
// asks for it:
//
//	var shared = cluster.Shared{Options: cluster.Options{Nodes: 1}}
//
//	func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
//
//	func TestApply(t *testing.T) { c := shared.Cluster(t); … }
type Shared struct {
	Options Options

	once    sync.Once
	cluster *Cluster
	err     error
}

// Cluster returns the cluster. With -short, it skips the test.
func (s *Shared) Cluster(t testing.TB) *Cluster {
	t.Helper()
	skipShort(t)
	s.once.Do(func() { s.cluster, s.err = startOrUse(s.Options) })
	if s.err != nil {
		t.Fatal(withHint(s.err))
	}
	return s.cluster
}

// Started returns the cluster if a test has started it, otherwise nil.
func (s *Shared) Started() *Cluster { return s.cluster }

// Main runs the tests, stops the cluster if it was started, and returns the exit status.
func (s *Shared) Main(m interface{ Run() int }) int {
	status := m.Run()
	if s.cluster == nil {
		return status
	}
	defer s.cluster.Stop()
	if err := s.cluster.Failure(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(status, 1)
	}
	return status
}

// Until calls is until it returns true, and reports whether it did within the time. It pauses three
// times as long as a call takes, so that calls of a program, which take a tenth of a second of CPU,
// do not slow down the process that the test waits for.
func Until(within time.Duration, is func() bool) bool {
	const shortest, factor = 10 * time.Millisecond, 3
	deadline := time.Now().Add(within)
	for {
		asked := time.Now()
		switch {
		case is():
			return true
		case asked.After(deadline):
			return false
		}
		time.Sleep(max(shortest, factor*time.Since(asked)))
	}
}

func startOrUse(options Options) (*Cluster, error) {
	if path := os.Getenv(EnvKubeconfig); path != "" {
		return Use(path)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return Start(ctx, options)
}

// Use returns a running cluster by its kubeconfig. Its Stop does not stop the cluster; its Binary
// finds kubectl where Start would, or else on the PATH.
func Use(kubeconfig string) (*Cluster, error) {
	path, err := filepath.Abs(kubeconfig)
	if err != nil {
		return nil, err
	}
	c := &Cluster{external: true, KubeconfigPath: path}
	c.binaries, _ = binaries([]string{kubectlProgram})
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	c.URL = config.Host
	if c.client, err = newAPIClient(config); err != nil {
		return nil, err
	}
	c.Dir, err = c.tempDir() // for generated kubeconfigs
	return c, err
}

func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane; not with -short")
	}
}

// withHint adds an error's remedy, if it has one.
func withHint(err error) error {
	var hinter interface{ Hint() string }
	if errors.As(err, &hinter) {
		return fmt.Errorf("%w: %s", err, hinter.Hint())
	}
	return err
}
