package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
)

// listener is a stderr that calls a function once it has received a string.
type listener struct {
	mu    sync.Mutex
	text  bytes.Buffer
	until string
	heard func()
}

func (l *listener) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if strings.Contains(l.text.String(), l.until) {
		l.heard()
	}
	return len(p), nil
}

// For each verb that reads manifests: if standard input delivers nothing, the verb says that it is
// waiting, and Ctrl-C ends it.
func TestWaitingForSilentInputIsReported(t *testing.T) {
	noCluster(t)
	if err := syscall.Mkfifo("pipe.yaml", 0o600); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer server.Close()
	defer close(over)
	if err := os.WriteFile("kustomization.yaml", []byte("resources: ["+server.URL+"/app.yaml]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, called := range []string{"apply", "diff", "wait", "delete"} {
		for what, args := range map[string][]string{
			server.URL + "/app.yaml": {"-f", server.URL + "/app.yaml"},
			"the pipe pipe.yaml":     {"-f", "pipe.yaml"},
			"standard input":         {"-f", "-"},
			"the kustomization .":    {"-k", "."},
		} {
			if called != "apply" && what != "standard input" {
				continue // They read alike; a moment each is enough.
			}
			t.Run(called+" "+what, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				stderr := &listener{until: "waiting for " + what, heard: stop}
				in, writer := io.Pipe()
				defer func() { _ = writer.Close() }()
				streams := genericiooptions.IOStreams{In: in, Out: io.Discard, ErrOut: stderr}
				code := Main(ctx, append([]string{"kubectl-k8sconnect", called}, args...), streams)
				if code != verb.ExitUnknown || !strings.Contains(stderr.text.String(), "interrupted") || ctx.Err() == nil {
					t.Errorf("exit status %d, stderr %q", code, &stderr.text)
				}
			})
		}
	}
}
