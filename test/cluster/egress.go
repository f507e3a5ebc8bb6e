package cluster

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

const egressConfigFile = "egress.yaml"

// egressConfig routes all connections of the API server, except to etcd, through the harness:
// webhooks, aggregated APIs, kubelets.
const egressConfig = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: %[1]s
- name: controlplane
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: %[1]s
`

// egress is the HTTP CONNECT proxy for the API server's outgoing connections. It knows some
// services, and refuses everything else at once.
type egress struct {
	server http.Server
	client func() *apiClient
	closed chan struct{}

	mu       sync.Mutex
	services map[string]string // namespace/name → address
	hosts    map[string]string // host:port → address
}

// RouteService makes the API server reach a service, on any port, at a loopback address such as
// 127.0.0.1:8443, where its webhook or aggregated API runs. An APIService also requires a ready
// endpoint, with any address, before the API server calls it.
func (c *Cluster) RouteService(namespace, name, address string) error {
	return c.route(func(e *egress) { e.services[namespace+"/"+name] = address }, address)
}

// RouteHost makes the API server reach host:port at a loopback address.
func (c *Cluster) RouteHost(hostPort, address string) error {
	return c.route(func(e *egress) { e.hosts[hostPort] = address }, address)
}

func (c *Cluster) route(set func(*egress), address string) error {
	if c.egress == nil {
		return errExternal
	}
	if !isLoopback(address) {
		return fmt.Errorf("route to %s: not a loopback address with port", address)
	}
	c.egress.mu.Lock()
	defer c.egress.mu.Unlock()
	set(c.egress)
	return nil
}

func (c *Cluster) startEgress() error {
	socket := filepath.Join(c.Dir, "egress.sock")
	if len(socket) > 100 { // some systems limit a socket's path to 104 bytes
		short, err := c.tempDir()
		if err != nil {
			return err
		}
		socket = filepath.Join(short, "egress.sock")
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	e := &egress{
		client:   func() *apiClient { return c.client },
		closed:   make(chan struct{}),
		services: map[string]string{},
		hosts:    map[string]string{},
	}
	e.server = http.Server{Handler: e, ReadHeaderTimeout: 10 * time.Second}
	c.egress = e
	go func() { _ = e.server.Serve(listener) }()
	return os.WriteFile(filepath.Join(c.Dir, egressConfigFile), fmt.Appendf(nil, egressConfig, socket), 0o644)
}

// ServeHTTP answers a CONNECT request.
func (e *egress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "CONNECT only", http.StatusMethodNotAllowed)
		return
	}
	address, ok := e.resolve(r.Context(), r.Host)
	if !ok {
		http.Error(w, "the test cluster has no route to "+r.Host, http.StatusBadGateway)
		return
	}
	var dialer net.Dialer
	server, err := dialer.DialContext(r.Context(), "tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = server.Close()
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	ended := make(chan struct{}, 2)
	go func() { pipe(server, buffered); ended <- struct{}{} }()
	go func() { pipe(client, server); ended <- struct{}{} }()
	for range 2 {
		select {
		case <-ended:
		case <-e.closed:
			_, _ = client.Close(), server.Close()
			return
		}
	}
}

// pipe copies until the end, then closes the destination.
func pipe(to net.Conn, from io.Reader) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
}

// resolve returns the loopback address for an address that the API server dials.
func (e *egress) resolve(ctx context.Context, target string) (string, bool) {
	e.mu.Lock()
	address, known := e.hosts[target]
	services := maps.Clone(e.services)
	e.mu.Unlock()
	if known {
		return address, true
	}
	if isLoopback(target) { // a webhook by URL
		return target, true
	}
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		return "", false
	}
	for name, address := range services {
		if slices.Contains(e.clusterIPs(ctx, name), host) {
			return address, true
		}
	}
	return "", false
}

// clusterIPs reads the service each time, because a recreated service has another address.
func (e *egress) clusterIPs(ctx context.Context, service string) []string {
	namespace, name := filepath.Split(service)
	var found struct{ Spec struct{ ClusterIPs []string } }
	_ = e.client().get(ctx, "/api/v1/namespaces/"+namespace+"services/"+name, &found)
	return found.Spec.ClusterIPs
}

func (e *egress) close() {
	close(e.closed)
	_ = e.server.Close()
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return ip.IsLoopback() || host == "localhost"
}
