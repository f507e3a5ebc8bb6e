package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
)

// The discovery cache is where kubectl keeps it, and never in the working directory unless the user
// chooses that. Without a home directory, as in many pipelines, nothing is cached.
func TestCacheDirectory(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers := map[string]string{
			"/api":    `{"kind":"APIVersions","versions":["v1"]}`,
			"/apis":   `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}]}]}`,
			"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"configmaps","namespaced":true,"kind":"ConfigMap","verbs":["get","list","watch"]}]}`,
		}
		w.Header().Set("Content-Type", "application/json")
		text, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			text = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
		}
		_, _ = w.Write([]byte(text))
	}))
	defer server.Close()
	for name, test := range map[string]struct {
		env  map[string]string
		args []string
		want []string
	}{
		"a home":        {env: map[string]string{"HOME": "home"}, want: []string{"home"}},
		"none":          {},
		"named":         {env: map[string]string{"KUBECACHEDIR": "named"}, want: []string{"named"}},
		"named by flag": {args: []string{"--cache-dir=flag"}, want: []string{"flag"}},
	} {
		t.Run(name, func(t *testing.T) {
			noCluster(t)
			for _, name := range []string{"HOME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "KUBECACHEDIR"} {
				t.Setenv(name, "")
			}
			folder, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range test.env {
				t.Setenv(name, folder+"/"+value)
			}
			if home := test.env["HOME"]; home != "" {
				if err := os.Mkdir(home, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			code, out, stderr := call(t, append([]string{"wait", "cm/app", "--for=delete", "--server=" + server.URL}, test.args...)...)
			if code != verb.ExitUnknown && code != verb.ExitYes {
				t.Errorf("%d, %s%s", code, out, stderr)
			}
			var kept []string
			for _, name := range []string{".", "home", "named", "flag"} {
				entries, _ := os.ReadDir(name)
				if name != "." && len(entries) > 0 {
					kept = append(kept, name)
				}
				if name == "." && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == ".kube" }) {
					kept = append(kept, "the working folder")
				}
			}
			if diff := cmp.Diff(test.want, kept); diff != "" {
				t.Errorf("-want +got:\n%s\n%s%s", diff, out, stderr)
			}
		})
	}
}
