package cli_test

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
)

// The plugin opens the connection while it reads manifests; in this test, the first byte arrives
// only after the connection is open. Invalid manifests end the run without a request.
func TestConnectionBeforeManifests(t *testing.T) {
	for _, args := range [][]string{
		{"apply", "-f", "-"}, {"apply", "-f", "-", "--dry-run=client"}, {"diff", "-f", "-"}, {"delete", "-f", "-", "--yes"},
	} {
		t.Run(args[0], func(t *testing.T) {
			server := listen(t)
			manifests := &onceOpened{opened: server.first, text: bytes.NewBufferString("kind: {")}
			var out bytes.Buffer
			code := cli.Main(t.Context(), append([]string{"kubectl-k8sconnect"}, append(args, "--kubeconfig", server.kubeconfig)...),
				genericiooptions.IOStreams{In: manifests, Out: &out, ErrOut: &out})
			if code != verb.ExitUnknown {
				t.Errorf("exit status %d: %s", code, &out)
			}
		})
	}
}

// A verb that sends no requests opens no connection.
func TestNoConnectionWithoutRequests(t *testing.T) {
	server := listen(t)
	manifest := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(manifest, []byte("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"apply", "-f", manifest, "--dry-run=client", "-o", "manifests"},
		{"apply", "-f", manifest, "--expect-context", "another"},
	} {
		var out bytes.Buffer
		cli.Main(t.Context(), append([]string{"kubectl-k8sconnect"}, append(args, "--kubeconfig", server.kubeconfig)...),
			genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out})
	}
	// The server accepts connections in order, so the test's connection comes after any of the
	// plugin's.
	ours, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ours.Close() }()
	if n := server.made.Load(); n != 1 {
		t.Errorf("%d connections were made", n-1)
	}
}

// onceOpened is a reader that blocks until a connection is open.
type onceOpened struct {
	opened <-chan struct{}
	text   io.Reader
}

func (o *onceOpened) Read(p []byte) (int, error) {
	<-o.opened
	return o.text.Read(p)
}

// listening is a server that expects no request.
type listening struct {
	*httptest.Server
	kubeconfig string
	made       atomic.Int64
	first      chan struct{} // closed with its first connection
}

func listen(t *testing.T) *listening {
	t.Helper()
	l := &listening{first: make(chan struct{}), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	l.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		t.Errorf("%s %s", req.Method, req.URL)
	}))
	l.EnableHTTP2 = true
	l.Config.ErrorLog = log.New(io.Discard, "", 0)
	l.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew && l.made.Add(1) == 1 {
			close(l.first)
		}
	}
	l.StartTLS()
	t.Cleanup(l.Close)
	config := api.NewConfig()
	config.Clusters["c"] = &api.Cluster{
		Server:                   l.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: l.Certificate().Raw}),
	}
	config.AuthInfos["u"] = &api.AuthInfo{Token: "t"}
	config.Contexts["c"] = &api.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*config, l.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return l
}
