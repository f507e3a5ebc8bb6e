package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

// HTTPProxy stands in front of a cluster's API server and sees its requests: it counts
// them, and fails some on demand. The API server sees each user as itself, whether by
// client certificate or by token. Both sides speak HTTP/2, and watches flow. It cannot
// carry exec and port-forward.
//
//	p, err := c.HTTPProxy()
//	kubeconfig, err := c.Kubeconfig(p.URL())
//	p.Fail(2, cluster.Path("PATCH", "/api/v1/"), cluster.Fault{Status: 429, RetryAfter: time.Second})
type HTTPProxy struct {
	server   http.Server
	listener net.Listener
	forward  *httputil.ReverseProxy

	mu       sync.Mutex
	rules    []*rule
	requests []*Request
}

// Request is a request that an HTTPProxy has seen.
type Request struct {
	Time      time.Time
	Method    string
	URI       string // path and query
	User      string // by client certificate; empty for others
	UserAgent string
	Status    int  // the answer's; 0 while there is none
	Failed    bool // by the proxy
}

// HTTPProxy starts an HTTP proxy in front of the cluster's API server.
func (c *Cluster) HTTPProxy() (*HTTPProxy, error) {
	if c.External() {
		return nil, errExternal
	}
	target, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	serving, err := tls.X509KeyPair(c.pki.serving.cert, c.pki.serving.key)
	if err != nil {
		return nil, err
	}
	frontProxy, err := tls.X509KeyPair(c.pki.proxy.cert, c.pki.proxy.key)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	authorities.AddCert(c.pki.ca.cert)

	p := &HTTPProxy{}
	p.forward = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { rewrite(r, target) },
		Transport:     newIdentities(authorities, frontProxy),
		FlushInterval: -1, // a watch's events must not wait for more
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			Fault{Status: http.StatusBadGateway, Message: err.Error()}.answer(w, r)
		},
	}
	p.server = http.Server{
		Handler:           p,
		ErrorLog:          log.New(io.Discard, "", 0),
		ReadHeaderTimeout: 30 * time.Second,
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{serving},
			ClientAuth:   tls.VerifyClientCertIfGiven,
			ClientCAs:    authorities,
			MinVersion:   tls.VersionTLS12,
		},
	}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	go func() { _ = p.server.ServeTLS(p.listener, "", "") }()
	return p, nil
}

// URL returns the proxy's own address.
func (p *HTTPProxy) URL() string { return "https://" + p.listener.Addr().String() }

// Close ends the proxy and its connections.
func (p *HTTPProxy) Close() { _ = p.server.Close() }

// Requests returns all requests so far, in the order in which they came.
func (p *HTTPProxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Request, len(p.requests))
	for i, request := range p.requests {
		all[i] = *request
	}
	return all
}

// Count returns how many requests there were with a method (any, if empty) and
// a path that begins so.
func (p *HTTPProxy) Count(method, pathPrefix string) int {
	n := 0
	for _, r := range p.Requests() {
		if (method == "" || method == r.Method) && strings.HasPrefix(r.URI, pathPrefix) {
			n++
		}
	}
	return n
}

// ServeHTTP carries one request, or fails it.
func (p *HTTPProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	entry := &Request{
		Time:      time.Now(),
		Method:    r.Method,
		URI:       r.URL.RequestURI(),
		UserAgent: r.UserAgent(),
	}
	if len(r.TLS.PeerCertificates) > 0 {
		entry.User = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	fault, faulty := p.log(entry, r)
	carry := func() {
		p.forward.ServeHTTP(&statusWriter{ResponseWriter: w, status: func(code int) { p.setStatus(entry, code) }}, r)
	}
	if !faulty {
		carry()
		return
	}
	p.setStatus(entry, fault.Status)
	if !sleep(r.Context(), fault.Delay) {
		return
	}
	if fault.Slow {
		carry()
		return
	}
	if fault.Half {
		r.Header.Del("Accept-Encoding") // Half of a compressed answer cannot be read.
		half := &halved{header: http.Header{}, status: http.StatusOK}
		p.forward.ServeHTTP(half, r)
		half.handOn(w)
		return
	}
	if fault.AnswerLost {
		p.forward.ServeHTTP(discard{header: http.Header{}}, r)
	}
	fault.answer(w, r)
}

// log notes a request, and says how to fail it, if at all.
func (p *HTTPProxy) log(entry *Request, r *http.Request) (Fault, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, entry)
	for _, rule := range p.rules {
		if rule.applies(r) {
			entry.Failed = true
			return rule.fault, true
		}
	}
	return Fault{}, false
}

func (p *HTTPProxy) setStatus(entry *Request, status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry.Status = status
}
