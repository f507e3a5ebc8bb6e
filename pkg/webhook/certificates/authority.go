package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"time"
)

// authority is a certificate authority, and the certificate that it signed for
// serving. It is never changed, but replaced.
type authority struct {
	cert *x509.Certificate
	// key is nil if it was lost, or dropped: the authority signs nothing more.
	key *ecdsa.PrivateKey
	// serving is nil if there is no usable one. Its Leaf is set.
	serving *tls.Certificate
	// until is when the last certificate that the authority signed expires.
	until time.Time
}

// id identifies an authority in the Secret.
func id(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return hex.EncodeToString(sum[:])
}

// newAuthority creates one with a certificate to serve.
func (r rules) newAuthority(now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make an authority's key: %w", err)
	}
	template := &x509.Certificate{
		// Each authority has a name of its own: an API server that knows two finds
		// the right one by name.
		Subject:               pkix.Name{CommonName: fmt.Sprintf("%s authority %d", r.authName, now.UnixNano())},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(r.ca),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	cert, err := sign(template, template, key, key)
	if err != nil {
		return nil, fmt.Errorf("sign an authority: %w", err)
	}
	return r.sign(&authority{cert: cert, key: key}, now)
}

// sign returns the authority with a new certificate to serve.
func (r rules) sign(a *authority, now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a serving key: %w", err)
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: r.authName},
		DNSNames:    r.names,
		NotBefore:   now.Add(-backdate),
		NotAfter:    earlier(now.Add(r.serving), a.cert.NotAfter),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := sign(template, a.cert, key, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign a serving certificate: %w", err)
	}
	return &authority{
		cert: a.cert, key: a.key, until: later(a.until, cert.NotAfter),
		serving: &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert},
	}, nil
}

// sign creates a certificate for of's key, and parses it as others will.
func sign(template, parent *x509.Certificate, of, by *ecdsa.PrivateKey) (*x509.Certificate, error) {
	var err error
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, of.Public(), by)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// renewal is when a certificate should be replaced: when two thirds of its life
// are over.
func renewal(cert *x509.Certificate) time.Time {
	begin := cert.NotBefore.Add(backdate)
	return begin.Add(cert.NotAfter.Sub(begin) * 2 / 3)
}

// fits reports whether the certificate covers all names of the webhook.
func (r rules) fits(cert *x509.Certificate) bool {
	for _, name := range r.names {
		if cert.VerifyHostname(name) != nil {
			return false
		}
	}
	return true
}

// usable reports whether the authority has a certificate that can be served at
// this time.
func (a *authority) usable(now time.Time) bool {
	return a != nil && a.serving != nil && now.Before(a.serving.Leaf.NotAfter)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
