// Package lab is where tools are measured: a control plane behind a stretch of network, the sets
// that are applied to it, and what a call cost.
package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// Lab is where the tools are measured: a control plane, without controllers unless
// the work needs them, and the stretch of network in front of it.
type Lab struct {
	Dir      string
	Cluster  *cluster.Cluster
	proxy    *proxy.TCP
	audit    *audit
	Client   dynamic.Interface // our own, beside the proxy
	metadata metadata.Interface
	kinds    Kinds
	plots    int // so far

	Controllers bool
}

// New starts everything; close ends it.
func New(ctx context.Context, controllers bool) (_ *Lab, err error) {
	l := &Lab{Controllers: controllers}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if l.Dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return nil, err
	}
	log := filepath.Join(l.Dir, "audit.log")
	l.Cluster, err = cluster.Start(ctx, cluster.Options{
		AuditLog:    log,
		Controllers: controllers,
		APIServerArgs: []string{
			"--audit-log-maxsize=10000",      // MB: one file, however long the run
			"--delete-collection-workers=16", // only the clearing up needs it
		},
	})
	if err != nil {
		return nil, err
	}
	if l.proxy, err = proxy.NewTCP(l.Cluster.URL); err != nil {
		return nil, err
	}
	if l.audit, err = openAudit(log); err != nil {
		return nil, err
	}
	return l, l.connect()
}

func (l *Lab) connect() error {
	config, err := l.Cluster.RESTConfig()
	if err != nil {
		return err
	}
	config.QPS = -1 // Work beside a measurement must not lag behind it.
	if l.Client, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	if l.metadata, err = metadata.NewForConfig(config); err != nil {
		return err
	}
	l.kinds, err = discover(config)
	return err
}

// Close ends everything, and removes its folder.
func (l *Lab) Close() {
	if l.audit != nil {
		l.audit.close()
	}
	if l.proxy != nil {
		l.proxy.Close()
	}
	if l.Cluster != nil {
		l.Cluster.Stop()
	}
	_ = os.RemoveAll(l.Dir)
}

// environment is that of a tool: a user, a home and a discovery cache of its own, the network
// between it and the server, and none of the caller's settings that could change what it does.
// kubectl knows sets only by a flag.
func (l *Lab) environment(user string) ([]string, error) {
	home := filepath.Join(l.Dir, user)
	kubeconfig := filepath.Join(home, "kubeconfig")
	if err := l.admit(user, kubeconfig); err != nil {
		return nil, err
	}
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "HOME" || strings.HasPrefix(name, "KUBE") || strings.HasSuffix(strings.ToUpper(name), "_PROXY")
	})
	return append(env, "KUBECTL_APPLYSET=true", "HOME="+home, "KUBECACHEDIR="+filepath.Join(home, "cache"), "KUBECONFIG="+kubeconfig), nil
}

// admit creates a user with all rights, unless it exists.
func (l *Lab) admit(user, kubeconfig string) error {
	if _, err := os.Stat(kubeconfig); err == nil {
		return nil
	}
	direct, err := l.Cluster.KubeconfigFor(user, "system:masters")
	if err != nil {
		return err
	}
	config, err := clientcmd.LoadFromFile(direct)
	if err != nil {
		return err
	}
	for _, server := range config.Clusters {
		server.Server = l.proxy.URL()
	}
	return clientcmd.WriteToFile(*config, kubeconfig)
}

// Network sets the added round-trip time.
func (l *Lab) Network(rtt time.Duration) { l.proxy.SetRTT(rtt) }

// Measured is a call together with what the server and the network saw of it.
type Measured struct {
	Usage
	Requests    int            // that the API server got
	Verbs       map[string]int `json:",omitempty"` // the same by verb
	Sent        int64          // bytes, to the server
	Received    int64          // bytes, from the server
	Connections int64          // that were made
}

// Measure runs a program as a user.
func (l *Lab) Measure(ctx context.Context, user string, argv []string) (Measured, error) {
	env, err := l.environment(user)
	if err != nil {
		return Measured{}, err
	}
	if err := l.audit.skip(); err != nil {
		return Measured{}, err
	}
	before := l.proxy.Stats()
	u, err := Call(ctx, env, l.Log(), argv...)
	if err != nil {
		return Measured{}, err
	}
	after := l.proxy.Stats()
	verbs, err := l.audit.verbs(ctx, user)
	if err != nil {
		return Measured{}, fmt.Errorf("audit log: %w", err)
	}
	m := Measured{Usage: u, Verbs: verbs, Sent: after.Sent - before.Sent, Received: after.Received - before.Received, Connections: after.Connections - before.Connections}
	for _, n := range verbs {
		m.Requests += n
	}
	return m, l.Cluster.Failure()
}

// Log is the output of the program that was measured last.
func (l *Lab) Log() string { return filepath.Join(l.Dir, "output.log") }

// Add makes two calls one.
func (m *Measured) Add(more Measured) {
	m.Seconds += more.Seconds
	m.CPUSeconds += more.CPUSeconds
	m.PeakBytes = max(m.PeakBytes, more.PeakBytes)
	m.Exit = more.Exit
	m.Requests += more.Requests
	m.Sent += more.Sent
	m.Received += more.Received
	m.Connections += more.Connections
	for verb, n := range more.Verbs {
		m.Verbs[verb] += n
	}
}
