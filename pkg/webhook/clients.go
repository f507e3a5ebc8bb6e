package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
)

// clients checks that a client certificate is signed by an authority. If names are set, the common
// name of the certificate must be one of them.
type clients struct {
	// authority is a PEM file. It is read again for each connection, because it may be replaced.
	authority string
	names     []string
}

// require makes a TLS configuration require client certificates. It uses VerifyConnection, which
// also runs for resumed sessions. tls.RequireAndVerifyClientCert does not allow its authority to be
// replaced.
func (l clients) require(c *tls.Config) {
	c.ClientAuth = tls.RequireAnyClientCert
	c.VerifyConnection = l.verify
}

func (l clients) pool() (*x509.CertPool, error) {
	text, err := os.ReadFile(l.authority)
	if err != nil {
		return nil, fmt.Errorf("read the client CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the client CA: %s contains no certificate", l.authority)
	}
	return pool, nil
}

func (l clients) verify(s tls.ConnectionState) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the client has no certificate")
	}
	roots, err := l.pool()
	if err != nil {
		return err
	}
	between := x509.NewCertPool()
	for _, certificate := range s.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	if _, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return err
	}
	if len(l.names) > 0 && !slices.Contains(l.names, s.PeerCertificates[0].Subject.CommonName) {
		return errors.New("the client certificate has a name that is not allowed")
	}
	return nil
}
