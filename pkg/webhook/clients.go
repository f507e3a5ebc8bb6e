package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
)

// clients are the clients that may connect to admission: those with a certificate by an authority,
// with one of the names, if there are any.
type clients struct {
	// authority is a file of PEM certificates. It is read for each connection: there are few, and
	// it may be replaced.
	authority string
	names     []string
}

// require makes a server ask for certificates. They are verified here and not by
// tls.RequireAndVerifyClientCert, whose authority cannot be replaced; also when a session is
// resumed.
func (l clients) require(c *tls.Config) {
	c.ClientAuth = tls.RequireAnyClientCert
	c.VerifyConnection = l.verify
}

func (l clients) pool() (*x509.CertPool, error) {
	text, err := os.ReadFile(l.authority)
	if err != nil {
		return nil, fmt.Errorf("read the authority of clients: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the authority of clients: %s has no certificate", l.authority)
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
		return errors.New("the client's certificate has another name")
	}
	return nil
}
