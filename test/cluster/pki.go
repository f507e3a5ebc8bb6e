package cluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority signs certificates. It uses elliptic curve keys: RSA keys would take much of a second
// at each start.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pair keyPair
}

// keyPair is a certificate and its key in PEM.
type keyPair struct{ cert, key []byte }

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate(name)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	pair, err := encode(der, key)
	return &authority{cert: cert, key: key, pair: pair}, err
}

// client issues a certificate for a user in groups.
func (a *authority) client(user string, groups ...string) (keyPair, error) {
	template := certificate(user)
	template.Subject.Organization = groups
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

// server issues a certificate for a server with these addresses and names.
func (a *authority) server(name string, ips []net.IP, hosts ...string) (keyPair, error) {
	template := certificate(name)
	template.IPAddresses, template.DNSNames = ips, hosts
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	return a.issue(template)
}

func (a *authority) issue(template *x509.Certificate) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return keyPair{}, err
	}
	return encode(der, key)
}

// certificate returns a template with the fields that all certificates share. It is valid from an
// hour ago, in case the clock is set back.
func certificate(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // never fails since Go 1.24
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func encode(der []byte, key crypto.PrivateKey) (keyPair, error) {
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	return keyPair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
	}, err
}

// pki contains the certificates of one cluster.
type pki struct {
	ca         *authority // for servers and users
	frontProxy *authority // for aggregation: proxies that may vouch for users
	serving    keyPair
	proxy      keyPair // client certificate from frontProxy
}

// newPKI creates a cluster's certificates, and writes the files for its programs into dir.
func newPKI(dir string) (*pki, error) {
	var p pki
	var err error
	if p.ca, err = newAuthority("kubernetes"); err != nil {
		return nil, err
	}
	if p.frontProxy, err = newAuthority("front-proxy"); err != nil {
		return nil, err
	}
	loopback := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.ParseIP(serviceIP)}
	p.serving, err = p.ca.server("kube-apiserver", loopback, "localhost",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	if err != nil {
		return nil, err
	}
	if p.proxy, err = p.frontProxy.client("front-proxy-client"); err != nil {
		return nil, err
	}
	accounts, err := newAuthority("service-accounts") // only its key is used
	if err != nil {
		return nil, err
	}
	return &p, writeAll(dir, map[string][]byte{
		"ca.crt":              p.ca.pair.cert,
		"ca.key":              p.ca.pair.key,
		"front-proxy-ca.crt":  p.frontProxy.pair.cert,
		"front-proxy.crt":     p.proxy.cert,
		"front-proxy.key":     p.proxy.key,
		"apiserver.crt":       p.serving.cert,
		"apiserver.key":       p.serving.key,
		"service-account.key": accounts.pair.key,
		"service-account.crt": accounts.pair.cert,
	})
}

func writeAll(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
