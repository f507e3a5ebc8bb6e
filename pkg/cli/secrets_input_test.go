package cli_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
)

// canary is in every Secret of these inputs. It contains no spaces, like a token.
const canary = "canary-7f3a9-of-the-vault"

// leaked returns a recognizable part of the canary in a string, plain or in base64.
func leaked(text string) string {
	const reporting = 7
	for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))} {
		for at := 0; at+reporting <= len(form); at++ {
			if part := form[at : at+reporting]; strings.Contains(text, part) {
				return part
			}
		}
	}
	return ""
}

// Edge case 86: no error about an input quotes a value of a Secret. There is no server.
func TestErrorsOfInputsQuoteNoSecret(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n"
	tests := map[string]struct {
		files map[string]string
		says  string // what the error has to say all the same
	}{
		"an alias":        {map[string]string{"a.yaml": secret + "stringData: {p: *" + canary + "}\n"}, "a.yaml:4"},
		"a tag":           {map[string]string{"a.yaml": secret + "stringData: {p: !!int " + canary + "}\n"}, "a.yaml:4"},
		"an unclosed map": {map[string]string{"a.yaml": secret + "stringData: {p: {" + canary + "}\n"}, "a.yaml"},
		"a JSON string that does not end": {
			map[string]string{"a.yaml": `{"apiVersion": "v1", "kind": "Secret", "stringData": {"p": "` + canary}, "a.yaml",
		},
		"labels that are a list": {
			map[string]string{"a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: db, labels: [" + canary + "]}\nstringData: {p: " + canary + "}\n"},
			"labels",
		},
		"a literal without a key": {
			map[string]string{"kustomization.yaml": "secretGenerator:\n- name: db\n  literals: [" + canary + "]\n"}, "literal",
		},
		"a literal with an odd key": {
			map[string]string{"kustomization.yaml": "secretGenerator:\n- name: db\n  literals: ['a b=" + canary + "', 'a b=x']\n"}, "db",
		},
		"a line of an env file": {
			map[string]string{"kustomization.yaml": "secretGenerator:\n- name: db\n  envs: [db.env]\n", "db.env": "a=1\n" + canary + "/=2\n"}, "",
		},
		"an alias in a resource": {
			map[string]string{"kustomization.yaml": "resources: [db.yaml]\n", "db.yaml": secret + "stringData: {p: *" + canary + "}\n"}, "db.yaml",
		},
		"an alias in the kustomization": {
			map[string]string{"kustomization.yaml": "secretGenerator:\n- name: db\n  literals: [*" + canary + "]\n"}, "",
		},
		"literals that are not a list": {
			map[string]string{"kustomization.yaml": "secretGenerator:\n- name: db\n  literals: " + canary + "\n"}, "",
		},
		"a resource without a kind": {
			map[string]string{"kustomization.yaml": "resources: [db.yaml]\n", "db.yaml": "apiVersion: v1\nmetadata: {name: db}\nstringData: {p: " + canary + "}\n"}, "db.yaml",
		},
		"a patch without a name": {
			map[string]string{
				"kustomization.yaml": "resources: [db.yaml]\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: Secret\n    stringData: {p: " + canary + "}\n",
				"db.yaml":            secret,
			}, "",
		},
		"a patch with an unknown operation": {
			map[string]string{
				"kustomization.yaml": "resources: [db.yaml]\npatches:\n- target: {kind: Secret}\n  patch: |-\n    - op: put\n      path: /data/p\n      value: " + canary + "\n",
				"db.yaml":            secret,
			}, "",
		},
		"a patch that is not YAML": {
			map[string]string{
				"kustomization.yaml": "resources: [db.yaml]\npatches:\n- target: {kind: Secret}\n  patch: |-\n    stringData: {p: *" + canary + "}\n",
				"db.yaml":            secret,
			}, "",
		},
		"a file that is not there": {
			map[string]string{"kustomization.yaml": "resources: [nope.yaml]\nsecretGenerator:\n- name: db\n  literals: [p=" + canary + "]\n"}, "nope.yaml",
		},
	}
	for name, tt := range tests {
		for _, verb := range []string{"apply", "diff", "delete", "wait"} {
			for _, verbosity := range []string{"0", "9"} {
				t.Run(name+"/"+verb+"/"+verbosity, func(t *testing.T) {
					dir := t.TempDir()
					flag := "-f"
					for file, text := range tt.files {
						if file == "kustomization.yaml" {
							flag = "-k"
						}
						if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
							t.Fatal(err)
						}
					}
					var out, errOut bytes.Buffer
					status := cli.Main(t.Context(), []string{"kubectl-k8sconnect", verb, flag, dir, "--v=" + verbosity},
						genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut})
					text := out.String() + errOut.String()
					if part := leaked(text); part != "" {
						t.Errorf("the output contains %q of the secret value: %s", part, text)
					}
					if status != 2 || !strings.Contains(text, tt.says) {
						t.Errorf("status %d, want 2 and %q: %s", status, tt.says, text)
					}
				})
			}
		}
	}
}
