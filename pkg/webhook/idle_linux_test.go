package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/admission"
)

// idleServer is the environment variable with the address at which this test serves as a child
// process.
const idleServer = "TEST_IDLE_SERVER"

// 4,000 idle connections, with and without a TLS hello, cost at most 60 MB, and a review still gets
// its response (edge case 101). A child process serves, so that the clients' memory does not count.
func TestIdleConnections(t *testing.T) {
	if address := os.Getenv(idleServer); address != "" {
		serveIdle(t, address)
		return
	}
	for _, hello := range []bool{false, true} {
		t.Run(fmt.Sprintf("hello=%v", hello), func(t *testing.T) {
			address := freeAddress(t)
			child := exec.Command(os.Args[0], "-test.run=^TestIdleConnections$")
			child.Env = append(os.Environ(), idleServer+"="+address)

			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
			config := &tls.Config{InsecureSkipVerify: true}
			transport := &http.Transport{TLSClientConfig: config}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			for !reviewed(t, client, address) && t.Context().Err() == nil { // It has not started yet.
			}
			before := residentBytes(t, child.Process.Pid)
			for range 4000 {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				if hello {
					_ = tls.Client(conn, config).Handshake() // It may already have lost its place.
				}
			}
			more := residentBytes(t, child.Process.Pid) - before
			t.Logf("%d MB more for 4,000 connections", more>>20)
			if more > 60<<20 {
				t.Errorf("4,000 connections cost %d MB, want at most 60", more>>20)
			}
			if !reviewed(t, client, address) {
				t.Error("the review of the client that was there before got no response")
			}
			fresh := &http.Transport{TLSClientConfig: config}
			defer fresh.CloseIdleConnections()
			if !reviewed(t, &http.Client{Transport: fresh}, address) {
				t.Error("the review of a new client got no response")
			}
		})
	}
}

func serveIdle(t *testing.T, address string) {
	certificate := newAuthority(t).certify(t, "webhook")
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}, "tls.key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	handlers, err := admission.New(admission.Options{Log: logr.Discard(), Registry: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	s := &serving{address: address, opts: Options{CertDir: dir}, handlers: handlers}
	if err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func reviewed(t *testing.T, client *http.Client, address string) bool {
	t.Helper()
	const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"UPDATE","kind":{"version":"v1","kind":"ConfigMap"},
		"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}},"oldObject":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}}}`
	answer, err := client.Post("https://"+address+admission.OwnershipPath, "application/json", strings.NewReader(review))
	if err != nil {
		return false
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	return err == nil && answer.StatusCode == http.StatusOK && strings.Contains(string(body), `"allowed":true`)
}

func residentBytes(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, err := strconv.Atoi(strings.Fields(text)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
