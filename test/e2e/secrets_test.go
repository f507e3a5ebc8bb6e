package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// The values in the tests' Secrets: old, live, and in the manifest.
const (
	canaryLive = `live-7f3a9"quoted"\of-the-vault & <more>`
	canaryNew  = "-----BEGIN KEY-----\nnew-51bd2-first-line-of-it\nnew-51bd2-second-line-of-it\n-----END KEY-----\n"
	canaryKept = "kept-c0ffee-which-no-manifest-has"
)

// leaks returns a recognisable part of a canary that a text contains, however it is quoted.
func leaks(text string) string {
	const reporting = 9
	for _, value := range []string{canaryLive, canaryNew, canaryKept} {
		encoded := base64.StdEncoding.EncodeToString([]byte(value))
		for _, form := range append(strings.Split(value, "\n"), encoded, strings.ReplaceAll(value, `"`, `\"`)) {
			for at := 0; at+reporting <= len(form); at++ {
				if part := form[at : at+reporting]; strings.Contains(text, part) && !strings.Contains(part, "KEY--") && !strings.Contains(part, "-----") {
					return part
				}
			}
		}
	}
	return ""
}

func keepsSecrets(t *testing.T, r *e2etest.Run) {
	t.Helper()
	if part := leaks(r.Stdout.String() + r.Stderr.String()); part != "" {
		t.Errorf("output contains the secret text %q: %s", part, r)
	}
}

func inJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// quotingPolicy makes the API server quote the request and the stored version of a Secret.
const quotingPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAME}}
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [secrets]}
  variables:
  - name: sent
    expression: "object != null && has(object.data) && has(object.data.p) ? object.data.p : 'nothing'"
  - name: had
    expression: "oldObject != null && has(oldObject.data) ? oldObject.data.map(k, k + '=' + string(oldObject.data[k])).join(',') : 'nothing'"
  - name: last
    expression: >-
      oldObject != null && has(oldObject.metadata.annotations) &&
      'kubectl.kubernetes.io/last-applied-configuration' in oldObject.metadata.annotations ?
      oldObject.metadata.annotations['kubectl.kubernetes.io/last-applied-configuration'].trim() : 'nothing'
  validations:
  - expression: "false"
    messageExpression: "'sent ' + string(variables.sent) + ' had ' + variables.had + ' last ' + variables.last"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME, validationActions: [ACTION]}
`

// secretsOfATest creates a Secret as kubectl does. It returns the namespace and a manifest with
// that Secret, changed, and a new one.
func secretsOfATest(t *testing.T, c *cluster.Cluster) (ns, set string) {
	t.Helper()
	ns = e2etest.Namespace(t, c)
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\nstringData: %s\n"
	e2etest.Kubectl(t, c, "apply", "-n", ns, "-f", e2etest.File(t, fmt.Sprintf(secret, "old", inJSON(t, map[string]string{"p": canaryLive, "kept": canaryKept}))))
	return ns, e2etest.File(t, fmt.Sprintf(secret, "old", inJSON(t, map[string]string{"p": canaryNew}))+"---\n"+
		fmt.Sprintf(secret, "fresh", inJSON(t, map[string]string{"p": canaryNew}))+
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: beside}\ndata: {a: b}\n")
}

// Edge case 86: a policy quotes the request and the old object in a warning and in a denial. No
// output of any verb, format or verbosity contains a byte of either.
func TestNoOutputContainsSecret(t *testing.T) {
	c := shared.Cluster(t)
	for action, status := range map[string]int{"Warn": 0, "Deny": 1} {
		t.Run(action, func(t *testing.T) {
			ns, set := secretsOfATest(t, c)
			policy := e2etest.File(t, strings.NewReplacer("NAME", ns, "ACTION", action).Replace(quotingPolicy))
			e2etest.Kubectl(t, c, "apply", "-f", policy)
			t.Cleanup(func() {
				_ = exec.Command(c.Binary("kubectl"), "delete", "-f", policy, "--kubeconfig", c.KubeconfigPath).Run()
			})
			quoted := waitForQuote(t, c, ns)
			if leaks(quoted) == "" {
				t.Fatalf("the policy quotes nothing: %s", quoted)
			}
			for i, call := range []struct {
				args   []string
				status int
			}{
				{[]string{"apply", "-f", set, "--dry-run=server", "--take=all"}, status},
				{[]string{"diff", "-f", set, "--take=all"}, 1 + status},
				{[]string{"delete", "-f", set, "--dry-run=server", "--ignore-not-found"}, status},
				{[]string{"wait", "secret/old", "--for=size(self.data) > 7", "--timeout=0"}, 1},
				{[]string{"owners", "secret/old"}, 0},
				{[]string{"stuck", "secret/old"}, 0},
			} {
				for j, more := range [][]string{
					{}, {"-o", "json"}, {"-o", "stream"}, {"-o", "junit"}, {"-o", "yaml"}, {"-o", "name"}, {"-v6"}, {"-v8"}, {"-v9"}, {"-v10"},
				} {
					if (j-i+10)%circle.Of(10, 1, 1) != 0 { // each verb and format; apply -v10 below covers verbosity
						continue
					}
					if call.args[0] == "owners" && len(more) > 1 && more[1] != "json" && more[1] != "yaml" {
						continue
					}
					r := e2etest.Plugin(t, c.KubeconfigPath, append(append(call.args, "-n", ns), more...)...)
					keepsSecrets(t, r)
					if got := r.Cmd.ProcessState.ExitCode(); got != call.status {
						t.Errorf("exit status %d, want %d: %s", got, call.status, r)
					}
				}
			}
			// The policy's own words are still reported.
			r := e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set, "--take=all", "-v10")
			keepsSecrets(t, r)
			r.Ends(t, status).Says(t, "=***")
			r = e2etest.Plugin(t, c.KubeconfigPath, "delete", "-n", ns, "secret/old")
			keepsSecrets(t, r)
			r.Ends(t, status)
		})
	}
}

// waitForQuote waits until the policy is enforced, and returns its message.
func waitForQuote(t *testing.T, c *cluster.Cluster, ns string) string {
	t.Helper()
	var out []byte
	e2etest.Until(t, "the policy is in force", func() bool {
		out, _ = e2etest.KubectlCommand(t, c, "delete", "secret", "old", "-n", ns, "--dry-run=server").CombinedOutput()
		return strings.Contains(string(out), "kept=")
	})
	return string(out)
}

// Edge case 86: any response with quotes of Secrets in plain text.
func TestSecretsInServerErrorsAreMasked(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	for name, fault := range map[string]proxy.Fault{
		"422": {Status: http.StatusUnprocessableEntity}, "403": {Status: http.StatusForbidden},
		"500": {Status: http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			p, kubeconfig := e2etest.Proxied(t, c)
			ns, set := secretsOfATest(t, c)
			had := fmt.Sprintf("had %s and %s, or %s", canaryLive,
				base64.StdEncoding.EncodeToString([]byte(canaryKept)), canaryKept[:len(canaryKept)-6]+"…")
			sent := fault
			fault.Message, sent.Message = had, fmt.Sprintf("expected map, got %q, %s", canaryNew, had)
			secrets := "/api/v1/namespaces/" + ns + "/secrets"
			// A message about a new Secret may arrive before the other one is read, whose values
			// are then unknown.
			fresh := fault
			fresh.Message = fmt.Sprintf("expected map, got %q", canaryNew)
			p.Fail(-1, proxy.Path("PATCH", secrets+"/fresh"), fresh)
			p.Fail(-1, proxy.Path("PATCH", secrets), sent)
			p.Fail(-1, proxy.Path("DELETE", secrets), fault)
			for _, more := range [][]string{{"-o", "json"}, {"-o", "stream", "-v9"}} {
				for _, args := range [][]string{
					{"apply", "-f", set, "--take=all"}, {"diff", "-f", set}, {"delete", "secret/old", "--timeout=1s"},
				} {
					if args[0] == "delete" && fault.Status == http.StatusInternalServerError {
						continue // retries for minutes
					}
					keepsSecrets(t, e2etest.Plugin(t, kubeconfig, append(append(args, "-n", ns, "--server-timeout=1s"), more...)...))
				}
			}
			if fault.Status == http.StatusForbidden { // a client without read access is refused before the object is read
				return
			}
			p.Fail(-1, proxy.Path("GET", secrets), fault)
			for _, args := range [][]string{
				{"apply", "-f", set}, {"wait", "secret/old"}, {"owners", "secret/old"}, {"stuck", "secrets"},
			} {
				keepsSecrets(t, e2etest.Plugin(t, kubeconfig, append(args, "-n", ns, "--server-timeout=1s", "--timeout=10s", "-v9")...))
			}
		})
	}
}
