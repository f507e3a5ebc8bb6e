package chart_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// listener replaces the webhook: it allows everything, and records the requests.
type listener struct {
	caBundle []byte
	server   *httptest.Server

	mu    sync.Mutex
	calls []call
}

// call is a call of the API server.
type call struct {
	path string
	*admissionv1.AdmissionRequest
}

// listen starts a listener and routes the release's service to it.
func (s site) listen(t *testing.T, release, namespace string) *listener {
	t.Helper()
	l := &listener{}
	certificate, bundle := certificateFor(t, release+"."+namespace+".svc")
	l.caBundle = bundle
	l.server = httptest.NewUnstartedServer(l)
	l.server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	l.server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that do not trust its certificate
	l.server.StartTLS()
	t.Cleanup(l.server.Close)
	if err := s.RouteService(namespace, release, l.server.Listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	s.trust(t, release, bundle)
	eventually(t, "the API server calls both entries", func() bool {
		name := fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: probe, namespace: default}, data: {a: %q}}", time.Now())
		s.apply(t, configMaps, name, "one")
		s.apply(t, configMaps, name, fmt.Sprint("another-", time.Now().UnixNano()))
		if err := s.in(configMaps, "default").Delete(t.Context(), "probe", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		// Sets one of its kind's deprecated fields.
		account := fieldstest.Read(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: probe, namespace: default, annotations: {kubernetes.io/enforce-mountable-secrets: 'true'}}}")
		if _, err := s.in(accounts, "default").Create(t.Context(), account, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Fatal(err)
		}
		return l.count("default", "probe", "/ownership") > 0 && l.count("default", "probe", "/deprecation") > 0
	})
	return l
}

// trust writes the caBundle and the paths, as the webhook does.
func (s site) trust(t *testing.T, configuration string, bundle []byte) {
	t.Helper()
	type entry map[string]any
	var entries []entry
	for name, path := range map[string]string{"ownership": "ownership", "deletion": "deletion", "deprecation": "deprecation", "custom": "deprecation", "reach": "reach"} {
		entries = append(entries, entry{"name": name + ".k8sconnect.io", "clientConfig": entry{"caBundle": bundle, "service": entry{"path": "/" + path}}})
	}
	patch, err := json.Marshal(entry{"webhooks": entries})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.typed.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(t.Context(), configuration,
		types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "k8sconnect-webhook"})
	if err != nil {
		t.Fatal(err)
	}
}

// count returns the number of calls for an object at a path.
func (l *listener) count(namespace, name, path string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, c := range l.calls {
		if c.Namespace == namespace && c.Name == name && c.path == path {
			n++
		}
	}
	return n
}

// all returns all calls so far.
func (l *listener) all() []call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]call(nil), l.calls...)
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "not a review", http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	l.calls = append(l.calls, call{path: r.URL.Path, AdmissionRequest: review.Request})
	l.mu.Unlock()
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// certificateFor returns a self-signed certificate for a name.
func certificateFor(t *testing.T, name string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
