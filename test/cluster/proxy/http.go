package proxy

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

// HTTP stands in front of a cluster's API server and sees its requests: it counts
// them, and fails some on demand. The API server sees each user as itself, whether by
// client certificate or by token. Both sides speak HTTP/2, and watches flow. It cannot
// carry exec and port-forward.
//
//	p, err := c.HTTP()
//	kubeconfig, err := c.Kubeconfig(p.URL())
//	p.Fail(2, proxy.Path("PATCH", "/api/v1/"), proxy.Fault{Status: 429, RetryAfter: time.Second})
type HTTP struct {
	server   http.Server
	listener net.Listener
	forward  *httputil.ReverseProxy

	mu       sync.Mutex
	rules    []*rule
	requests []*Request
}

// Request is a request that the proxy received.
type Request struct {
	Time      time.Time
	Method    string
	URI       string // path and query
	User      string // from the client certificate; empty without one
	UserAgent string
	Status    int  // of the response; 0 before it
	Failed    bool // whether the proxy failed it
}

// Certificates contains the proxy's certificates and the CAs that it trusts.
type Certificates struct {
	Serving tls.Certificate // presented to clients
	// Front is presented to the API server, which then trusts the proxy's statement of the user.
	Front       tls.Certificate
	Authorities *x509.CertPool // for clients and the API server
}

// NewHTTP starts an HTTP proxy for the API server at a URL.
func NewHTTP(server string, c Certificates) (*HTTP, error) {
	target, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	p := &HTTP{}
	p.forward = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { rewrite(r, target) },
		Transport:     newIdentities(c.Authorities, c.Front),
		FlushInterval: -1, // watch events must be forwarded at once
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
			Certificates: []tls.Certificate{c.Serving},
			ClientAuth:   tls.VerifyClientCertIfGiven,
			ClientCAs:    c.Authorities,
			MinVersion:   tls.VersionTLS12,
		},
	}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	go func() { _ = p.server.ServeTLS(p.listener, "", "") }()
	return p, nil
}

// URL returns the proxy's address.
func (p *HTTP) URL() string { return "https://" + p.listener.Addr().String() }

// Close ends the proxy and its connections.
func (p *HTTP) Close() { _ = p.server.Close() }

// Requests returns all requests so far, in order of arrival.
func (p *HTTP) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Request, len(p.requests))
	for i, request := range p.requests {
		all[i] = *request
	}
	return all
}

// Count returns the number of requests with a method (any if empty) and a path prefix.
func (p *HTTP) Count(method, pathPrefix string) int {
	n := 0
	for _, r := range p.Requests() {
		if (method == "" || method == r.Method) && strings.HasPrefix(r.URI, pathPrefix) {
			n++
		}
	}
	return n
}

// ServeHTTP forwards a request, or fails it.
func (p *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
		r.Header.Del("Accept-Encoding") // Half of a compressed response could not be read.
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

// Fail fails the next n matching requests, or all of them if n is negative. The first rule that
// matches and is not used up applies.
func (p *HTTP) Fail(n int, match Match, fault Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, &rule{left: n, match: match, fault: fault})
}

// Heal removes all rules of Fail.
func (p *HTTP) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = nil
}

// log records a request, and returns the rule to fail it, if any.
func (p *HTTP) log(entry *Request, r *http.Request) (Fault, bool) {
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

func (p *HTTP) setStatus(entry *Request, status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry.Status = status
}
