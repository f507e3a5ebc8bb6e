package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A client cannot send a request without a certificate that the CA signed, or with a name that is
// not allowed. A replaced CA takes effect at once (edge case 101).
func TestClients(t *testing.T) {
	first, second := newAuthority(t), newAuthority(t)
	file := filepath.Join(t.TempDir(), "ca.crt")
	replace := func(a *authority) {
		if err := os.WriteFile(file, a.pem, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	replace(first)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{}
	clients{authority: file, names: []string{"kube-apiserver"}}.require(server.TLS)
	server.StartTLS()
	defer server.Close()
	answers := func(certificates ...tls.Certificate) bool {
		transport := server.Client().Transport.(*http.Transport).Clone()
		transport.TLSClientConfig.Certificates = certificates
		defer transport.CloseIdleConnections()
		answer, err := (&http.Client{Transport: transport}).Get(server.URL)
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return true
	}
	good, later := first.certify(t, "kube-apiserver"), second.certify(t, "kube-apiserver")
	for name, tt := range map[string]struct {
		certificates []tls.Certificate
		want         bool
	}{
		"none":              {nil, false},
		"another authority": {[]tls.Certificate{later}, false},
		"another name":      {[]tls.Certificate{first.certify(t, "kubelet")}, false},
		"the API server":    {[]tls.Certificate{good}, true},
	} {
		if got := answers(tt.certificates...); got != tt.want {
			t.Errorf("%s: answered %t", name, got)
		}
	}
	replace(second)
	if answers(good) || !answers(later) {
		t.Error("after the replacement, the old authority is accepted or the new one is rejected")
	}
	if _, err := New(nil, Options{CertDir: "x", ClientCA: filepath.Join(t.TempDir(), "none")}, Parts{}); err == nil {
		t.Error("New() succeeded without the file of the client CA, want an error")
	}
}

type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	pem         []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

func (a *authority) certify(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
