package input

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// sick does not report its kinds, and counts the requests for them.
type sick struct {
	*httptest.Server
	api, apis atomic.Int32
}

func newSick(t *testing.T) *sick {
	t.Helper()
	s := &sick{}
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *sick) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch req.URL.Path {
	case "/api":
		s.api.Add(1)
	case "/apis":
		s.apis.Add(1)
	}
	// Discovery sends two requests at once, and an error in answer to one of them ends the other.
	for s.api.Load() != s.apis.Load() && req.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	http.Error(w, "sick", http.StatusForbidden)
}

// connect returns a connection to the server, and the client that a verb would make with it.
func (s *sick) connect(t *testing.T, args ...string) (*connection.Connection, func() (*client.Client, error)) {
	t.Helper()
	config := api.NewConfig()
	config.Clusters["c"] = &api.Cluster{
		Server:                   s.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	}
	config.AuthInfos["u"] = &api.AuthInfo{Token: "t"}
	config.Contexts["c"] = &api.Context{Cluster: "c", AuthInfo: "u", Namespace: "shop"}
	config.CurrentContext = "c"
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	c := connection.New(redact.NewVault())
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.AddFlags(flags)
	args = append([]string{"--kubeconfig", kubeconfig, "--cache-dir", t.TempDir(), "--server-timeout=1s"}, args...)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return c, sync.OnceValues(func() (*client.Client, error) { return c.Connect(t.Context(), "", 0, func(event.Event) {}) })
}

// A server that fails to list its kinds is asked for the list once, with or without prefetch.
func TestKindsAreAskedForOnce(t *testing.T) {
	nowhere := genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}
	ignore := func(event.Event) {}
	for _, early := range []bool{false, true} {
		server := newSick(t)
		c, connect := server.connect(t)
		o := Of([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"))
		o.Prefetch = early
		if err := o.Read(t.Context(), c, nowhere, ignore); err != nil {
			t.Fatal(err)
		}
		client, err := connect()
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.Plan(context.Background(), c, client, func(*plan.Plan) error { return nil }, ignore)
		if n := server.apis.Load(); err == nil || n != 1 {
			t.Errorf("prefetch %t: %d questions, %v", early, n, err)
		}
	}
}
