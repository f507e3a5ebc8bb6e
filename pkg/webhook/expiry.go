package webhook

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
)

// expiry is a metric: when the served certificate expires. It has no value while there is none.
type expiry struct {
	desc *prometheus.Desc
	path string
}

func newExpiry(dir string) *expiry {
	return &expiry{path: filepath.Join(dir, corev1.TLSCertKey), desc: prometheus.NewDesc("k8sconnect_certificate_expires_timestamp_seconds",
		"When the certificate that this replica serves expires.", nil, nil)}
}

// Describe implements prometheus.Collector.
func (e *expiry) Describe(out chan<- *prometheus.Desc) { out <- e.desc }

// Collect implements prometheus.Collector.
func (e *expiry) Collect(out chan<- prometheus.Metric) {
	if at, err := expiryOf(e.path); err == nil {
		out <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, float64(at.Unix()))
	}
}

func expiryOf(path string) (time.Time, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return time.Time{}, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return time.Time{}, errors.New("no certificate")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, err
	}
	return leaf.NotAfter, nil
}
