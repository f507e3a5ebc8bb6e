package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	serviceCIDR = "10.96.0.0/16"
	serviceIP   = "10.96.0.1" // the service kubernetes gets the first of the range
)

func (c *Cluster) startEtcd() error {
	// Sockets in the cluster's folder replace ports, so that no other cluster's API server can
	// reach this etcd. Both programs run in the folder, because a socket's path must be short.
	args := []string{
		"--data-dir=" + filepath.Join(c.Dir, "etcd-data"),
		"--listen-client-urls=unix://etcd:1",
		"--advertise-client-urls=unix://etcd:1",
		"--listen-peer-urls=unix://etcd:2",
		"--initial-advertise-peer-urls=unix://etcd:2",
		"--initial-cluster=default=unix://etcd:2",
		// A single member need not wait for votes.
		"--heartbeat-interval=20",
		"--election-timeout=100",
		"--quota-backend-bytes=8589934592",
		"--log-level=warn",
	}
	if !c.options.Durable {
		args = append(args, "--unsafe-no-fsync")
	}
	p, err := startProcess(c.Dir, etcd, c.Binary(etcd), args...)
	c.add(p)
	return err
}

// awaitEtcd returns when etcd listens. An API server that starts earlier sleeps for a second before
// it retries.
func (c *Cluster) awaitEtcd(ctx context.Context) error {
	return c.poll(ctx, func() bool {
		_, err := os.Stat(filepath.Join(c.Dir, "etcd:1"))
		return err == nil
	})
}

// StartAPIServer restarts the API server that StopAPIServer or KillAPIServer ended, with the same
// address and data, and waits until it is ready. It also restarts the controllers, which would
// reconnect only after some twenty seconds.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	if c.External() {
		return errExternal
	}
	if p := c.process(apiServer); p != nil && !p.ended() {
		return errors.New("the API server is running")
	}
	if err := c.launchAPIServer(); err != nil {
		return err
	}
	if err := c.awaitAPIServer(ctx); err != nil {
		return err
	}
	return c.restartComponents()
}

// StopAPIServer ends the API server gracefully, or kills it when ctx ends or after three seconds:
// it would wait a minute for watches to end. Until StartAPIServer, its address refuses connections.
func (c *Cluster) StopAPIServer(ctx context.Context) error {
	p := c.process(apiServer)
	if p == nil {
		return errExternal
	}
	c.forget(p)
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-ctx.Done():
	case <-time.After(3 * time.Second):
	}
	p.kill()
	return nil
}

// KillAPIServer kills the API server, as a power failure would.
func (c *Cluster) KillAPIServer() error {
	p := c.process(apiServer)
	if p == nil {
		return errExternal
	}
	c.forget(p)
	p.kill()
	return nil
}

// PauseEtcd suspends etcd, as a hanging disk would, until resume is called.
func (c *Cluster) PauseEtcd() (resume func(), err error) {
	p := c.process(etcd)
	if p == nil {
		return nil, errExternal
	}
	p.signal(syscall.SIGSTOP)
	return func() { p.signal(syscall.SIGCONT) }, nil
}

// EtcdSocket returns the socket of etcd, for clients that read the stored data instead of the API
// server's view. It serves gRPC, and JSON over HTTP.
func (c *Cluster) EtcdSocket() string { return filepath.Join(c.Dir, "etcd:1") }

func (c *Cluster) launchAPIServer() error {
	p, err := startProcess(c.Dir, apiServer, c.Binary(apiServer), c.apiServerArgs()...)
	c.add(p)
	return err
}

func (c *Cluster) apiServerArgs() []string {
	pki := filepath.Join(c.Dir, "pki") + string(filepath.Separator)
	_, number, _ := net.SplitHostPort(c.port.Address())
	args := []string{
		"--etcd-servers=unix://etcd:1",
		"--bind-address=127.0.0.1",
		"--secure-port=" + number,
		"--permit-port-sharing", // the port is reserved by another socket
		// Endpoints may not contain loopback addresses, so those of the service kubernetes are not
		// written.
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + serviceCIDR,
		"--tls-cert-file=" + pki + "apiserver.crt",
		"--tls-private-key-file=" + pki + "apiserver.key",
		"--client-ca-file=" + pki + "ca.crt",
		"--authorization-mode=Node,RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + pki + "service-account.crt",
		"--service-account-signing-key-file=" + pki + "service-account.key",
		"--requestheader-client-ca-file=" + pki + "front-proxy-ca.crt",
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + pki + "front-proxy.crt",
		"--proxy-client-key-file=" + pki + "front-proxy.key",
		"--egress-selector-config-file=" + filepath.Join(c.Dir, egressConfigFile),
		"--allow-privileged",
	}
	if c.auditLog != "" {
		args = append(args,
			"--audit-policy-file="+filepath.Join(c.Dir, "audit-policy.yaml"),
			"--audit-log-path="+c.auditLog,
			"--audit-log-maxsize=4000") // MB; readers would miss the new file that the default of 100 starts
	}
	return append(args, c.options.APIServerArgs...)
}

// awaitAPIServer returns when the API server is ready or has ended.
func (c *Cluster) awaitAPIServer(ctx context.Context) error {
	var last error
	err := c.poll(ctx, func() bool {
		last = c.client.get(ctx, "/readyz", nil)
		return last == nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("%w; its last response: %w", err, last)
	}
	return err
}

// poll calls done until it returns true, a program ends, or ctx ends.
func (c *Cluster) poll(ctx context.Context, done func() bool) error {
	for !done() {
		for _, p := range c.running() {
			if err := p.failure(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the control plane: %w; logs are in %s", context.Cause(ctx), c.Dir)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}
