package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// lab is a control plane to measure tools on, with a network of variable latency in front of it. It
// has no controllers unless the work needs them.
type lab struct {
	dir         string
	cluster     *cluster.Cluster
	proxy       *proxy.TCP
	audited     int64             // how much of the audit log was read, in bytes
	client      dynamic.Interface // bypasses the proxy
	plots       int               // so far
	controllers bool
}

// newLab starts a lab; close stops it.
func newLab(ctx context.Context, controllers bool) (_ *lab, err error) {
	l := &lab{controllers: controllers}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return nil, err
	}
	l.cluster, err = cluster.Start(ctx, cluster.Options{
		AuditLog:    "audit.log",
		Controllers: controllers,
		APIServerArgs: []string{
			"--audit-log-maxsize=10000",      // MB: one file, however long the run
			"--delete-collection-workers=16", // for a fast cleanup
		},
	})
	if err != nil {
		return nil, err
	}
	if l.proxy, err = proxy.NewTCP(l.cluster.URL); err != nil {
		return nil, err
	}
	config, err := l.cluster.RESTConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // Preparations and checks must not be throttled.
	l.client, err = dynamic.NewForConfig(config)
	return l, err
}

func (l *lab) close() {
	if l == nil {
		return
	}
	if l.proxy != nil {
		l.proxy.Close()
	}
	if l.cluster != nil {
		l.cluster.Stop()
	}
	_ = os.RemoveAll(l.dir)
}

// environment returns a tool's environment: a user, a home and a discovery cache of its own, the
// proxy as the server, and no settings of the caller that could affect it. kubectl enables sets
// only by a variable.
func (l *lab) environment(user string) ([]string, error) {
	home := filepath.Join(l.dir, user)
	kubeconfig := filepath.Join(home, "kubeconfig")
	if _, err := os.Stat(kubeconfig); err != nil {
		direct, err := l.cluster.KubeconfigFor(user, "system:masters")
		if err != nil {
			return nil, err
		}
		config, err := clientcmd.LoadFromFile(direct)
		if err != nil {
			return nil, err
		}
		for _, server := range config.Clusters {
			server.Server = l.proxy.URL()
		}
		if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
			return nil, err
		}
	}
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "HOME" || strings.HasPrefix(name, "KUBE") || strings.HasSuffix(strings.ToUpper(name), "_PROXY")
	})
	return append(env, "KUBECTL_APPLYSET=true", "HOME="+home, "KUBECACHEDIR="+filepath.Join(home, "cache"), "KUBECONFIG="+kubeconfig), nil
}

// measured is the cost of a run: its process, its requests and its traffic.
type measured struct {
	usage
	requests       int   // received by the API server
	sent, received int64 // bytes, to and from the server
}

// measure runs a program as a user.
func (l *lab) measure(ctx context.Context, user string, argv []string) (m measured, err error) {
	env, err := l.environment(user)
	if err != nil {
		return m, err
	}
	if _, l.audited, err = l.cluster.AuditEventsFrom(l.audited); err != nil {
		return m, err
	}
	before := l.proxy.Stats()
	if m.usage, err = call(ctx, env, l.log(), argv...); err != nil {
		return m, err
	}
	after := l.proxy.Stats()
	m.sent, m.received = after.Sent-before.Sent, after.Received-before.Received
	if m.requests, err = l.requests(ctx, user); err != nil {
		return m, fmt.Errorf("audit log: %w", err)
	}
	return m, l.cluster.Failure()
}

// log is the file with the output of the last measured program.
func (l *lab) log() string { return filepath.Join(l.dir, "output.log") }

// requests returns how many requests a user has made since the last call. The server writes an event
// a moment after the client has its answer, so it reads until the log is quiet.
func (l *lab) requests(ctx context.Context, user string) (n int, err error) {
	const quiet = 60 * time.Millisecond
	for before := int64(-1); before != l.audited; {
		select {
		case <-time.After(quiet):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		before = l.audited
		var events []cluster.AuditEvent
		if events, l.audited, err = l.cluster.AuditEventsFrom(before); err != nil {
			return 0, err
		}
		n += finished(events, user)
	}
	return n, nil
}

// finished counts a user's requests. A long-running request also has an event for its start.
func finished(events []cluster.AuditEvent, user string) (n int) {
	for _, event := range events {
		if event.User.Username == user && event.Stage != "ResponseStarted" {
			n++
		}
	}
	return n
}
