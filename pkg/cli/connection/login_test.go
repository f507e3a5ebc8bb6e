package connection_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Each login that kubectl accepts in a kubeconfig reaches the server. If the server rejects the
// first credential, a program and a token file are asked for another one, once.
func TestLogins(t *testing.T) {
	jwt := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":4102444800}`)) + ".c2ln"
	const script = `#!/bin/sh
n=$(( $(cat "$0.n" 2>/dev/null || echo 0) + 1 )); echo $n > "$0.n"
echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"'$n'"}}'
`
	const (
		program = `{exec: {apiVersion: client.authentication.k8s.io/v1, command: $DIR/login, interactiveMode: Never}}`
		file    = `{tokenFile: $DIR/token}`
	)
	for name, test := range map[string]struct {
		user string
		// reject is how many requests the server rejects after the first one.
		reject int
		// want are the headers of all requests.
		want []string
	}{
		"a token":                              {`{token: abc}`, 0, []string{"Bearer abc", "Bearer abc"}},
		"a rejected token":                     {`{token: abc}`, 1, []string{"Bearer abc", "Bearer abc"}},
		"a token file":                         {file, 0, []string{"Bearer 1", "Bearer 1"}},
		"a rejected token file":                {file, 1, []string{"Bearer 1", "Bearer 1", "Bearer 3"}},
		"a token file that is always rejected": {file, 9, []string{"Bearer 1", "Bearer 1", "Bearer 3"}},
		"a password":                           {`{username: u, password: p}`, 0, []string{"Basic dTpw", "Basic dTpw"}},
		"a program":                            {program, 0, []string{"Bearer 1", "Bearer 1"}},
		"a rejected program":                   {program, 1, []string{"Bearer 1", "Bearer 1", "Bearer 2"}},
		"a program that is always rejected":    {program, 9, []string{"Bearer 1", "Bearer 1", "Bearer 2"}},
		"oidc": {
			`{auth-provider: {name: oidc, config: {client-id: kubernetes, idp-issuer-url: "https://127.0.0.1:1", id-token: ` + jwt + `}}}`,
			0,
			[]string{"Bearer " + jwt, "Bearer " + jwt},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir+"/token", "1")
			write(t, dir+"/login", script)
			var got []string
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = append(got, r.Header.Get("Authorization"))
				write(t, dir+"/token", fmt.Sprint(len(got)+1))
				w.Header().Set("Content-Type", "application/json")
				if len(got) > 1 && len(got) <= 1+test.reject {
					w.WriteHeader(http.StatusUnauthorized)
					_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Unauthorized", "code": 401}`))
					return
				}
				_, _ = w.Write([]byte(`{"gitVersion": "v1.36.0"}`))
			}))
			defer server.Close()
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			write(t, kubeconfig, `{apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: "`+server.URL+`", insecure-skip-tls-verify: true}}],
users: [{name: u, user: `+strings.ReplaceAll(test.user, "$DIR", dir)+`}],
contexts: [{name: c, context: {cluster: c, user: u}}]}`)
			c := connection.New(redact.NewVault())
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			c.AddFlags(flags)
			if err := flags.Parse([]string{"--kubeconfig=" + kubeconfig, "--cache-dir=" + t.TempDir()}); err != nil {
				t.Fatal(err)
			}
			client, err := c.Connect(t.Context(), "", 0, func(event.Event) {})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Version(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err = client.Version(t.Context())
			if (err != nil) != (test.reject > 1 || test.reject == 1 && len(test.want) == 2) || !slices.Equal(got, test.want) {
				t.Errorf("requests with %q, error %v; want %q", got, err, test.want)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Error(err)
	}
}
