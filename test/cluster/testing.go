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

// EnvKubeconfig names the environment variable with the path of a kubeconfig:
// if it is set, ForTest and Shared use that cluster instead of starting one.
const EnvKubeconfig = "KUBECONFIG_E2E"

// startTimeout is for a machine that does much else. A start takes three seconds.
const startTimeout = 3 * time.Minute

// ForTest returns a cluster for one test, and stops it when the test ends. It
// fails the test if one of the cluster's programs has ended by itself. With
// -short, the test is skipped.
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

// OwnOnly skips the test unless the cluster is the harness's own, which can be
// stopped and asked for certificates.
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
	// Options say what to start.
	Options Options

	once    sync.Once
	cluster *Cluster
	err     error
}

// Cluster returns the cluster. With -short, the test is skipped.
func (s *Shared) Cluster(t testing.TB) *Cluster {
	t.Helper()
	skipShort(t)
	s.once.Do(func() { s.cluster, s.err = startOrUse(s.Options) })
	if s.err != nil {
		t.Fatal(withHint(s.err))
	}
	return s.cluster
}

// Main runs the tests, stops the cluster if one was started, and returns the
// status to exit with.
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

// Until asks until it is so, and reports whether it became so within the time. It pauses for three
// times as long as the question took, so that asking by a program, which costs a tenth of a second
// of CPU, leaves the CPU to what is waited for.
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

// Use returns a cluster that runs already, by its kubeconfig. Its Stop stops
// nothing; Binary finds kubectl where Start would, or else on the PATH.
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
	c.Dir, err = c.tempDir() // for the kubeconfigs it is asked for
	return c, err
}

func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane; not with -short")
	}
}

// withHint adds what to do about an error, if it knows.
func withHint(err error) error {
	var hinter interface{ Hint() string }
	if errors.As(err, &hinter) {
		return fmt.Errorf("%w: %s", err, hinter.Hint())
	}
	return err
}
