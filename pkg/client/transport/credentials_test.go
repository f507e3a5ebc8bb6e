package transport_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// If a credential program hangs, that is reported repeatedly, and the request ends after
// ServerTimeout. client-go alone would wait forever.
func TestCredentialProgramHangs(t *testing.T) {
	var reported atomic.Int64
	c, err := client.New(client.Options{
		REST: &rest.Config{Host: "https://[::1]:1", ExecProvider: &api.ExecConfig{
			Command: "sh", Args: []string{"-c", "sleep 3"}, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: api.NeverExecInteractiveMode,
		}},
		CacheDir: t.TempDir(), ServerTimeout: 400 * time.Millisecond,
		Credentials: "sh", OnCredentials: func(time.Time) { reported.Add(1) },
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Version(t.Context())
	if err == nil || !strings.Contains(err.Error(), "sh returned no credentials within 400ms") || reported.Load() == 0 {
		t.Errorf("hang reported %d times: %v", reported.Load(), err)
	}
	var hinted interface{ Hint() string }
	if !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), "login") {
		t.Errorf("the hint does not mention a login: %v", err)
	}
}

// An expired login is reported as such, not as an unreachable server, and the request is not
// retried.
func TestNoCredentials(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"gitVersion": "v1.36.0"}`))
	}))
	defer server.Close()
	for name, program := range map[string]*api.ExecConfig{
		"it fails":            {Command: "sh", Args: []string{"-c", "exit 3"}},
		"it prints nothing":   {Command: "true"},
		"it is not installed": {Command: "/nowhere/login"},
	} {
		t.Run(name, func(t *testing.T) {
			program.APIVersion, program.InteractiveMode = "client.authentication.k8s.io/v1", api.NeverExecInteractiveMode
			c, err := client.New(client.Options{
				REST: &rest.Config{Host: server.URL, ExecProvider: program}, CacheDir: t.TempDir(),
				ServerTimeout: time.Minute,
				OnRetry:       func(object.Ref, error, time.Duration, time.Duration) { t.Error("the request was retried") },
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Version(t.Context())
			var (
				hinted      interface{ Hint() string }
				unreachable interface{ Unreachable() bool }
			)
			switch {
			case err == nil || !strings.Contains(err.Error(), "no request was sent") || strings.Contains(err.Error(), "reached"):
				t.Errorf("error: %v", err)
			case !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), "login") || strings.Contains(hinted.Hint(), "address"):
				t.Errorf("the hint does not mention a login: %v", err)
			case !errors.As(err, &unreachable):
				t.Error("the error does not say that the result is unknown")
			}
		})
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the server was asked %d times", n)
	}
}
