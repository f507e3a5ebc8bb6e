package certificates

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/types"
)

// configuration is the relevant part of a webhook configuration. The zero value is one
// that does not exist.
type configuration struct {
	uid        types.UID
	generation int64
	version    string
	entries    []entry
}

type entry struct {
	name   string
	bundle []byte
	// certs are the certificates of the bundle.
	certs []*x509.Certificate
}

func readConfiguration(object *admissionv1.ValidatingWebhookConfiguration) configuration {
	if object == nil {
		return configuration{}
	}
	c := configuration{uid: object.UID, generation: object.Generation, version: object.ResourceVersion}
	for _, w := range object.Webhooks {
		c.entries = append(c.entries, newEntry(w.Name, w.ClientConfig.CABundle))
	}
	return c
}

func newEntry(name string, bundle []byte) entry {
	return entry{name: name, bundle: bundle, certs: parseCertificates(bundle)}
}

// there reports whether the configuration exists.
func (c configuration) there() bool { return c.uid != "" }

// trusts reports whether every entry knows the authority.
func (c configuration) trusts(cert *x509.Certificate) bool {
	for _, e := range c.entries {
		if !contains(e.certs, cert) {
			return false
		}
	}
	return c.there()
}

// has reports whether every entry has this bundle.
func (c configuration) has(bundle []byte) bool {
	for _, e := range c.entries {
		if !bytes.Equal(e.bundle, bundle) {
			return false
		}
	}
	return true
}

// trusted are the authorities of all entries that are valid at this time.
func (c configuration) trusted(now time.Time) []*x509.Certificate {
	var all []*x509.Certificate
	for _, e := range c.entries {
		for _, cert := range e.certs {
			if cert.IsCA && now.Before(cert.NotAfter) && !contains(all, cert) {
				all = append(all, cert)
			}
		}
	}
	return all
}

func contains(all []*x509.Certificate, cert *x509.Certificate) bool {
	for _, one := range all {
		if one.Equal(cert) {
			return true
		}
	}
	return false
}

func encodeCertificate(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}

// parseCertificates returns the certificates of a PEM text and ignores everything
// else.
func parseCertificates(text []byte) []*x509.Certificate {
	var all []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			all = append(all, cert)
		}
	}
}
