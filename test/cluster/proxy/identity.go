package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

const remoteUser = "X-Remote-User"

// rewrite directs a request to target. The proxy terminates TLS, so it passes on the user of a
// client certificate in the headers of the aggregation layer. It drops these headers from clients.
func rewrite(r *httputil.ProxyRequest, target *url.URL) {
	r.SetURL(target)
	for name := range r.Out.Header {
		if strings.HasPrefix(name, "X-Remote-") {
			r.Out.Header.Del(name)
		}
	}
	if certs := r.In.TLS.PeerCertificates; len(certs) > 0 {
		r.Out.Header.Set(remoteUser, certs[0].Subject.CommonName)
		for _, group := range certs[0].Subject.Organization {
			r.Out.Header.Add("X-Remote-Group", group)
		}
	}
}

// identities sends requests to the API server: with the front proxy's certificate if it names a
// user, and without a certificate otherwise.
type identities struct{ vouched, bare *http.Transport }

func newIdentities(authorities *x509.CertPool, frontProxy tls.Certificate) identities {
	transport := func(certs ...tls.Certificate) *http.Transport {
		return &http.Transport{
			TLSClientConfig:     &tls.Config{RootCAs: authorities, Certificates: certs, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 32,
			DisableCompression:  true, // left to the client
		}
	}
	return identities{vouched: transport(frontProxy), bare: transport()}
}

// RoundTrip implements http.RoundTripper.
func (i identities) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get(remoteUser) != "" {
		return i.vouched.RoundTrip(r)
	}
	return i.bare.RoundTrip(r)
}
