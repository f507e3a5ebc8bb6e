package scripts_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// TestBadInput runs its scripts with a proxy in front of the API server, and allows only reads: bad
// input is found before any write or dry run (edge cases 22 to 24).
func TestBadInput(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "badinput"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			if err := setup(t.Context(), env, c); err != nil {
				return err
			}
			proxy, err := c.HTTPProxy()
			if err != nil {
				return err
			}
			env.Defer(proxy.Close)
			env.Defer(func() { onlyReads(env.T(), proxy.Requests()) })
			kubeconfig, err := c.Kubeconfig(proxy.URL())
			env.Setenv("KUBECONFIG", kubeconfig)
			return err
		},
		Cmds: commands(),
	})
}

func onlyReads(t testscript.T, requests []proxy.Request) {
	reads := []string{http.MethodGet, http.MethodHead}
	for _, r := range requests {
		if !slices.Contains(reads, r.Method) {
			t.Log("sent: ", r.Method, " ", r.URI)
			t.FailNow()
		}
	}
}
