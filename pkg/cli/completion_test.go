package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/completion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
)

func TestCompletion(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want []string
		// files means that the shell should complete file names.
		files string
	}{
		"verbs":                    {args: []string{""}, want: []string{"apply", "completion", "config", "delete", "deprecated", "diff", "fights", "give", "help", "history", "owners", "releases", "sets", "stuck", "unready", "version", "wait"}},
		"verb prefix":              {args: []string{"di"}, want: []string{"diff"}},
		"flag":                     {args: []string{"apply", "--dry"}, want: []string{"--dry-run"}},
		"dry run":                  {args: []string{"apply", "--dry-run="}, want: []string{"none", "server", "client"}},
		"dry run with =":           {args: []string{"apply", "--dry-run="}, want: []string{"none", "server", "client"}},
		"dry run of a subcommand":  {args: []string{"sets", "delete", "--dry-run="}, want: []string{"none", "server", "client"}},
		"no file for a subcommand": {args: []string{"sets", "rollback", "--timeout", ""}},
		"validate":                 {args: []string{"diff", "--validate", ""}, want: []string{"strict", "warn", "ignore"}},
		"output":                   {args: []string{"diff", "-o", ""}, want: []string{"table", "json", "yaml", "kyaml", "name", "stream", "junit", "markdown", "patch"}},
		"output of version":        {args: []string{"version", "-o", ""}, want: []string{"json", "yaml", "kyaml"}},
		"inventories": {
			args: []string{"give", "--inventory-of="}, want: []string{"kustomization/", "helmrelease/", "application/"}, files: ":6",
		},
		"colour":  {args: []string{"--color", ""}, want: []string{"auto", "always", "never"}},
		"take":    {args: []string{"apply", "--take", ""}, want: []string{"all"}},
		"context": {args: []string{"apply", "--context", ""}, want: []string{"home", "work"}},
		"context without a verb": {
			args: []string{"--context", ""}, want: []string{"home", "work"},
		},
		"user":                {args: []string{"diff", "--user", ""}, want: []string{"me"}},
		"namespace":           {args: []string{"apply", "-n", ""}, want: []string{"prod", "shop"}},
		"no file as argument": {args: []string{"apply", ""}},
		"no file as token":    {args: []string{"apply", "--token", ""}},
		"manifests":           {args: []string{"apply", "-f", ""}, want: []string{"yaml", "yml", "json"}, files: ":8"},
		"kustomization":       {args: []string{"diff", "-k", ""}, files: ":16"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/v1/namespaces" {
					t.Errorf("unexpected request for %s", r.URL)
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},
					"items":[{"metadata":{"name":"prod","uid":"1"}},{"metadata":{"name":"shop","uid":"2"}}]}`))
			}))
			defer server.Close()
			noCluster(t)
			t.Setenv("KUBECONFIG", "kubeconfig")
			write(t, "kubeconfig", strings.ReplaceAll(twoContexts, "https://127.0.0.1:1", server.URL))

			code, out, _ := callAs(t, "/home/me/bin/"+completion.Program, test.args...)
			if code != verb.ExitYes {
				t.Fatalf("exit status %d", code)
			}
			lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			directive := lines[len(lines)-1]
			var words []string
			for _, line := range lines[:len(lines)-1] {
				word, _, _ := strings.Cut(line, "\t")
				words = append(words, word)
			}
			if diff := cmp.Diff(test.want, words); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			want := ":4" // no names of files
			if test.files != "" {
				want = test.files
			}
			if directive != want {
				t.Errorf("directive %s, want %s", directive, want)
			}
		})
	}
}

// If the server is unreachable, completion only loses the words that the server would have given.
func TestCompletionWithoutServer(t *testing.T) {
	noCluster(t)
	t.Setenv("KUBECONFIG", "kubeconfig")
	write(t, "kubeconfig", twoContexts)
	code, out, _ := call(t, "__complete", "apply", "-n", "")
	if code != verb.ExitYes || out != ":4\n" {
		t.Errorf("exit status %d, stdout %q", code, out)
	}
}
