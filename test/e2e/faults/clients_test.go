package faults_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

// TestCertifiedClients requires certificates of API servers (edge case 101): an API server
// configured as in docs/webhook.md gets responses, and no other client can send a request.
func TestCertifiedClients(t *testing.T) {
	circle.Full(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	certificate, key := selfCertified(t, "kube-apiserver")
	file("client.crt", certificate)
	file("client.key", key)
	kubeconfig := file("webhooks.kubeconfig", fmt.Sprintf(`apiVersion: v1
kind: Config
users:
- name: %s.%s.svc
  user: {client-certificate: %[3]s/client.crt, client-key: %[3]s/client.key}
`, companion.Release, companion.Namespace, dir))
	admission := file("admission.yaml", `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ValidatingAdmissionWebhook
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: WebhookAdmissionConfiguration
    kubeConfigFile: `+kubeconfig+"\n")
	tr := beginWith(t, cluster.Options{APIServerArgs: []string{"--admission-control-config-file=" + admission}},
		"--shutdown-delay=0s", "--client-ca="+filepath.Join(dir, "client.crt"), "--client-names=kube-apiserver")
	r := tr.first(t)
	tr.makeNamespace(t, "work")
	tr.called(t, "certified")
	connection, err := tls.Dial("tcp", r.AdmissionAddress(), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // It is the stranger who does not look.
	if err != nil {
		return // refused at once
	}
	defer func() { _ = connection.Close() }()
	if status := promise(connection, r.AdmissionAddress()); status != "" {
		t.Errorf("an unknown client gets the response %q", status)
	}
}

// selfCertified returns a self-signed client certificate and its key.
func selfCertified(t *testing.T, name string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: text}))
}
