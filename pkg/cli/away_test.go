package cli_test

import (
	"bytes"
	"net/http"
	"sync"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
)

// With a patience of zero, an unreachable server is asked for its kinds only once. A server that
// hangs would otherwise cost the time of a handshake with each question.
func TestUnreachableServerIsAskedOnce(t *testing.T) {
	for _, args := range [][]string{{"apply"}, {"diff"}} {
		t.Run(args[0], func(t *testing.T) {
			server := listen(t)
			var mu sync.Mutex
			asked := map[string]int{}
			server.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
				mu.Lock()
				asked[req.URL.Path]++
				mu.Unlock()
				panic(http.ErrAbortHandler)
			})
			var out bytes.Buffer
			args = append(args, "-f", "-", "--server-timeout", "0", "--cache-dir", t.TempDir(), "--kubeconfig", server.kubeconfig)
			code := cli.Main(t.Context(), append([]string{"kubectl-k8sconnect"}, args...), genericiooptions.IOStreams{
				In:  bytes.NewBufferString("apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: a\n  namespace: b\n"),
				Out: &out, ErrOut: &out,
			})
			if code != verb.ExitUnknown {
				t.Errorf("exit status %d: %s", code, &out)
			}
			mu.Lock()
			defer mu.Unlock()
			for path, n := range asked {
				if n > 1 {
					t.Errorf("%s was asked %d times: %s", path, n, &out)
				}
			}
			if len(asked) == 0 {
				t.Error("the server received no request")
			}
		})
	}
}
