package cluster

import (
	"crypto/tls"
	"crypto/x509"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// HTTPProxy starts an HTTP proxy in front of the cluster's API server.
func (c *Cluster) HTTPProxy() (*proxy.HTTP, error) {
	if c.External() {
		return nil, errExternal
	}
	serving, err := tls.X509KeyPair(c.pki.serving.cert, c.pki.serving.key)
	if err != nil {
		return nil, err
	}
	front, err := tls.X509KeyPair(c.pki.proxy.cert, c.pki.proxy.key)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	authorities.AddCert(c.pki.ca.cert)
	return proxy.NewHTTP(c.URL, proxy.Certificates{Serving: serving, Front: front, Authorities: authorities})
}
