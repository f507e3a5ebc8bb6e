package webhook

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

var errNoCertificate = errors.New("no certificate yet")

// SelfSigned uses cert-controller, which stores the certificate in a Secret and adds its CA to the
// webhook configuration. SelfSigned copies the Secret to Options.CertDir itself, because the
// kubelet updates a mounted volume only once a minute.
type SelfSigned struct {
	secrets                                   typedcorev1.SecretInterface
	release                                   release
	namespace, secret, service, configuration string
	dir                                       string
}

// step copies the certificate from the Secret to the files. It creates a missing Secret, because
// cert-controller does not.
func (s *SelfSigned) step(ctx context.Context) error {
	secret, err := s.release.secret(ctx, s.secrets, s.secret)
	if err != nil {
		return err
	}
	if len(secret.Data[corev1.TLSCertKey]) == 0 {
		return errNoCertificate
	}
	for _, key := range []string{corev1.TLSPrivateKeyKey, corev1.TLSCertKey} {
		if err := replaceFile(filepath.Join(s.dir, key), secret.Data[key]); err != nil {
			return err
		}
	}
	return nil
}

func replaceFile(path string, content []byte) error {
	if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, content) {
		return nil
	}
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (s *SelfSigned) wait(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		_, err := os.Stat(filepath.Join(s.dir, corev1.TLSCertKey))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	})
}

// add makes each replica run cert-controller, so that there is a certificate even without a leader.
// If two replicas update the Secret concurrently, one of the updates is refused.
func (s *SelfSigned) add(m manager.Manager) error {
	return rotator.AddRotator(oneSecret(m, s.namespace, s.secret), &rotator.CertRotator{
		SecretKey: types.NamespacedName{Namespace: s.namespace, Name: s.secret},
		CertDir:   s.dir,
		CAName:    s.service + "-authority", CAOrganization: "k8sconnect",
		DNSName:    s.service + "." + s.namespace + ".svc",
		IsReady:    make(chan struct{}), // Unused, because the guard notices the certificate sooner.
		Webhooks:   []rotator.WebhookInfo{{Name: s.configuration, Type: rotator.Validating}},
		FieldOwner: certificateManager,
	})
}

type narrow struct {
	manager.Manager
	config *rest.Config
}

func (n narrow) GetConfig() *rest.Config { return n.config }

// oneSecret makes the manager request only one Secret. cert-controller requests all Secrets of the
// namespace, which our role does not permit.
func oneSecret(m manager.Manager, namespace, name string) manager.Manager {
	config := rest.CopyConfig(m.GetConfig())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/api/v1/namespaces/"+namespace+"/secrets") {
				r = r.Clone(r.Context())
				query := r.URL.Query()
				query.Set("fieldSelector", "metadata.name="+name)
				r.URL.RawQuery = query.Encode()
			}
			return next.RoundTrip(r)
		})
	})
	return narrow{m, config}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func expiry(dir string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "k8sconnect_certificate_expires_timestamp_seconds", Help: "Expiry time of the certificate that this replica serves.",
	}, func() float64 {
		at, err := expiryOf(filepath.Join(dir, corev1.TLSCertKey))
		if err != nil {
			return math.NaN()
		}
		return float64(at.Unix())
	})
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
