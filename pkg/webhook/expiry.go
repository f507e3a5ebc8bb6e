package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// expiry is a metric: when the served certificate expires. It has no value while there is
// none.
type expiry struct {
	desc *prometheus.Desc
	read func() (time.Time, error)
}

func newExpiry(certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error), dir string) *expiry {
	read := func() (time.Time, error) { return expiryOfFile(filepath.Join(dir, "tls.crt")) }
	if certificate != nil {
		read = func() (time.Time, error) {
			served, err := certificate(&tls.ClientHelloInfo{})
			if err != nil {
				return time.Time{}, err
			}
			return expiryOf(served.Certificate)
		}
	}
	return &expiry{read: read, desc: prometheus.NewDesc("k8sconnect_certificate_expires_timestamp_seconds",
		"When the certificate that this replica serves expires.", nil, nil)}
}

// Describe implements prometheus.Collector.
func (e *expiry) Describe(out chan<- *prometheus.Desc) { out <- e.desc }

// Collect implements prometheus.Collector.
func (e *expiry) Collect(out chan<- prometheus.Metric) {
	if at, err := e.read(); err == nil {
		out <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, float64(at.Unix()))
	}
}

func expiryOf(chain [][]byte) (time.Time, error) {
	if len(chain) == 0 {
		return time.Time{}, errors.New("no certificate")
	}
	leaf, err := x509.ParseCertificate(chain[0])
	if err != nil {
		return time.Time{}, err
	}
	return leaf.NotAfter, nil
}

func expiryOfFile(path string) (time.Time, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return time.Time{}, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return time.Time{}, errors.New("no certificate")
	}
	return expiryOf([][]byte{block.Bytes})
}
