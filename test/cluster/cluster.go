package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/k8sconnect/kubectl-k8sconnect/test/loopback"
)

// errExternal reports an operation that external clusters do not support.
var errExternal = errors.New("not possible on a cluster that is not the harness's own")

// Cluster is a control plane on loopback or, if External, a cluster that we do not run.
type Cluster struct {
	// Dir contains all files of the cluster.
	Dir string
	// KubeconfigPath is the administrator's kubeconfig.
	KubeconfigPath string
	// URL is the API server's address, which stays the same while it is stopped.
	URL string

	options   Options
	binaries  string
	temporary []string // folders to remove
	auditLog  string
	external  bool
	port      *loopback.Port
	pki       *pki
	client    *apiClient
	egress    *egress

	kubectlOnce sync.Once
	kubectl     string   // the path that Binary returns for kubectl
	kubectls    *process // the server that runs kubectl's commands

	mu        sync.Mutex
	processes []*process
	names     int // kubeconfigs written so far
}

// Start starts a cluster and returns when it is ready, including the default service account and
// the nodes that Options asks for. The cluster ends with Stop, or with this process.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c := &Cluster{options: options, binaries: options.Binaries}
	if c.binaries == "" {
		var err error
		if c.binaries, err = binaries(options.Programs()); err != nil {
			return nil, err
		}
	}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, fmt.Errorf("start a cluster: %w", err)
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.makeDir(); err != nil {
		return err
	}
	if err := c.startEtcd(); err != nil { // first: it depends on nothing, and takes a while
		return err
	}
	var err error
	if c.port, err = loopback.Reserve(); err != nil {
		return err
	}
	c.URL = "https://" + c.port.Address()
	if c.pki, err = newPKI(filepath.Join(c.Dir, "pki")); err != nil {
		return err
	}
	if err := c.prepareAudit(); err != nil {
		return err
	}
	if err := c.startEgress(); err != nil {
		return err
	}
	if err := c.writeAdmin(); err != nil {
		return err
	}
	if err := c.awaitEtcd(ctx); err != nil {
		return err
	}
	if err := c.launchAPIServer(); err != nil {
		return err
	}
	if err := c.awaitAPIServer(ctx); err != nil {
		return err
	}
	return c.startComponents(ctx)
}

func (c *Cluster) makeDir() (err error) {
	if c.options.Dir == "" {
		c.Dir, err = c.tempDir()
		return err
	}
	if c.Dir, err = filepath.Abs(c.options.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "pki")); err == nil {
		return fmt.Errorf("%s already contains a cluster", c.Dir)
	}
	return nil
}

func (c *Cluster) tempDir() (string, error) {
	dir, err := os.MkdirTemp("", "cluster-")
	if err == nil {
		c.temporary = append(c.temporary, dir)
	}
	return dir, err
}

// Stop kills everything that Start started. There is no data to save.
func (c *Cluster) Stop() {
	c.mu.Lock()
	processes := c.processes
	c.processes = nil
	c.mu.Unlock()
	var wait sync.WaitGroup
	for _, p := range processes {
		wait.Go(p.kill)
	}
	wait.Wait()
	if c.kubectls != nil {
		c.kubectls.kill()
		c.kubectls = nil
	}
	if c.egress != nil {
		c.egress.close()
		c.egress = nil
	}
	if c.client != nil {
		c.client.close()
	}
	if c.port != nil {
		c.port.Release()
		c.port = nil
	}
	for _, dir := range c.temporary {
		_ = os.RemoveAll(dir)
	}
	c.temporary = nil
}

// External reports whether the cluster comes from KUBECONFIG_E2E. Such a cluster cannot be stopped
// or restarted, and issues no certificates.
func (c *Cluster) External() bool { return c.external }

// Failure returns an error if a program has ended unexpectedly, with the end of its log.
func (c *Cluster) Failure() error {
	var failures []error
	for _, p := range c.running() {
		failures = append(failures, p.failure())
	}
	return errors.Join(failures...)
}

// Binary returns the path of a program of the control plane, such as kubectl in the API server's
// version.
func (c *Cluster) Binary(name string) string {
	if c.binaries == "" {
		return name // from the PATH, for an external cluster
	}
	path := filepath.Join(c.binaries, name)
	if name != kubectlProgram || len(notIn(c.binaries, []string{kubectlClient, kubectlServer})) > 0 {
		return path
	}
	c.kubectlOnce.Do(func() {
		c.kubectl = path
		if served, err := c.serveKubectl(path); err == nil {
			c.kubectl = served
		}
	})
	return c.kubectl
}

func (c *Cluster) add(p *process) {
	if p == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes = append(c.processes, p)
}

// forget removes a process from the list of those that have to run.
func (c *Cluster) forget(gone *process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes = slices.DeleteFunc(c.processes, func(p *process) bool { return p == gone })
}

func (c *Cluster) running() []*process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.processes)
}

func (c *Cluster) process(name string) *process {
	for _, p := range c.running() {
		if p.name == name {
			return p
		}
	}
	return nil
}
