package confirm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A recreation that was cut after the deletion can be finished with the same plan. If the object is
// back with other content, nothing is written.
func TestConfirmContinuesRecreation(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	const before, reviewed = `{apiVersion: v1, kind: KIND, metadata: {name: a, labels: {l: x}}, immutable: true, FIELD: {k: "1234567890"}}`,
		`{apiVersion: v1, kind: KIND, metadata: {name: a, labels: {l: x}}, immutable: true, FIELD: {k: "2345678901"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: other}, stringData: {k: "other-password"}}`
	for _, kind := range []string{"ConfigMap", "Secret"} {
		for _, state := range []string{"before", "deleted", "reviewed", "otherwise"} {
			t.Run(kind+" "+state, func(t *testing.T) {
				ns := e2etest.Namespace(t, c)
				as := func(text string) string {
					field := map[string]string{"ConfigMap": "data", "Secret": "stringData"}[kind]
					return e2etest.File(t, strings.NewReplacer("KIND", kind, "FIELD", field).Replace(text))
				}
				e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", as(before)).Ends(t, 0)
				set := []string{"-n", ns, "--recreate=" + kind, "-f", as(reviewed)}
				plan := e2etest.Confirmable(t, c, set...)
				if state != "before" {
					e2etest.Kubectl(t, c, "delete", kind+"/a", "-n", ns)
				}
				object, _, _ := strings.Cut(reviewed, "---")
				switch state {
				case "reviewed":
					e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", as(object)).Ends(t, 0)
				case "otherwise":
					e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", as(strings.ReplaceAll(object, "2345678901", "3456789012"))).Ends(t, 0)
				}
				data := func() string {
					return e2etest.Kubectl(t, c, "get", kind+"/a", "-n", ns, "--ignore-not-found", "-o", "jsonpath={.data.k}")
				}
				was := data()
				confirm := append([]string{"apply", "--confirm=" + plan}, set...)
				got := e2etest.Plugin(t, c.KubeconfigPath, confirm...)
				if state == "otherwise" {
					got.Ends(t, 1).Says(t, "nothing was written")
					if now := data(); now != was {
						t.Errorf("the refused run wrote %s over %s", now, was)
					}
					return
				}
				got.Ends(t, 0)
				want := map[string]string{"ConfigMap": "2345678901", "Secret": "MjM0NTY3ODkwMQ=="}[kind]
				if now := data(); now != want {
					t.Errorf("the value is %q, want %q\n%s", now, want, got)
				}
				e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0).Says(t, "nothing is left to do: the plan was already applied")
			})
		}
	}
}

// If a run was cut between two updates of Secrets, the same plan finishes it. A Secret that the same
// manager has changed since the review is refused, although the plan shows no value.
func TestConfirmContinuesSecrets(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	manifest := func(a, b string) string {
		return `{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {k: "` + a + `"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: b}, stringData: {k: "` + b + `"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: url}, data: {a: "https://` + b + `@db"}}
`
	}
	for _, tt := range []struct {
		name, between string
		ends          int
	}{
		{"nothing is done", manifest("password-a1", "password-b1"), 0},
		{"the first is done", manifest("password-a2", "password-b1"), 0},
		{"both are done", manifest("password-a2", "password-b2"), 0},
		{"the first is done, the second is otherwise", manifest("password-a2", "password-b3"), 1},
		{"the first is otherwise", manifest("password-a3", "password-b1"), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ns := e2etest.Namespace(t, c)
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, manifest("password-a1", "password-b1"))).Ends(t, 0)
			set := []string{"-n", ns, "-f", e2etest.File(t, manifest("password-a2", "password-b2"))}
			plan := e2etest.Confirmable(t, c, set...)
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, tt.between)).Ends(t, 0)
			data := func() string {
				return e2etest.Kubectl(t, c, "get", "secret/a", "secret/b", "cm/url", "-n", ns, "-o", "jsonpath={.items[*].data}")
			}
			was := data()
			confirm := append([]string{"apply", "--confirm=" + plan}, set...)
			got := e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, tt.ends)
			if tt.ends == 1 {
				got.Says(t, "nothing was written")
				if now := data(); now != was {
					t.Errorf("the refused run wrote %s over %s", now, was)
				}
				return
			}
			want := `{"k":"cGFzc3dvcmQtYTI="} {"k":"cGFzc3dvcmQtYjI="} {"a":"https://password-b2@db"}`
			if now := data(); now != want {
				t.Errorf("the data is %s, want %s", now, want)
			}
			e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0).Says(t, "nothing is left to do: the plan was already applied")
		})
	}
}

// A set applies a plan once, even if the cluster is as it was at the time of the review. A new review
// of the same changes has another digest, which can be used. A run that was cut can be continued,
// unless another run has followed.
func TestConfirmOnce(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	one, two := `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "1"}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "2"}}`
	for _, history := range []string{"--history=10", "--history=0"} {
		t.Run(history, func(t *testing.T) {
			ns := e2etest.Namespace(t, c)
			set := func(text string) []string { return []string{"-n", ns, "--apply-set=shop", "-f", e2etest.File(t, text)} }
			apply := func(text string, flags ...string) *e2etest.Run {
				return e2etest.Plugin(t, c.KubeconfigPath, append(append([]string{"apply", history}, set(text)...), flags...)...)
			}
			data := func(want string) {
				t.Helper()
				if got := e2etest.Kubectl(t, c, "get", "configmap/a", "-n", ns, "-o", "jsonpath={.data.k}"); got != want {
					t.Errorf("the value is %s, want %s", got, want)
				}
			}
			review := func() (plan, digest string) {
				text := e2etest.Plugin(t, c.KubeconfigPath, append([]string{"diff"}, set(two)...)...).Ends(t, 1).Stdout.String()
				_, digest, _ = strings.Cut(strings.TrimSpace(text), "# confirm this with ")
				if digest == "" {
					t.Fatalf("no digest in: %s", text)
				}
				return "--confirm=" + e2etest.Confirmable(t, c, set(two)...), digest
			}
			apply(one).Ends(t, 0)
			plan, digest := review()
			apply(two, plan, "--run-id=first").Ends(t, 0)
			data("2")
			for _, confirm := range []string{plan, digest} {
				apply(two, confirm).Ends(t, 0).Says(t, "nothing is left to do")
			}
			apply(strings.Replace(two, "name: a", "name: a, annotations: {}", 1), digest).Ends(t, 1).Says(t, "nothing was written")
			apply(one).Ends(t, 0)
			data("1")
			for _, confirm := range []string{plan, digest} {
				apply(two, confirm).Ends(t, 1).Says(t, "the plan was already applied by run")
				apply(two, confirm, "--dry-run=server").Ends(t, 1).Says(t, "the plan was already applied by run")
			}
			data("1")

			again, digestAgain := review()
			if again == plan || digestAgain == digest {
				t.Errorf("the new review has the same digest: %s", digest)
			}
			apply(two, digestAgain).Ends(t, 0)
			data("2")
			apply(one).Ends(t, 0)
			for _, confirm := range []string{digest, digestAgain} {
				apply(two, confirm).Ends(t, 1).Says(t, "the plan was already applied by run")
			}
			third, _ := review()
			apply(two, third).Ends(t, 0)
			data("2")
		})
	}
}

// A set remembers its plans even if its parent was deleted.
func TestConfirmOnceWithoutParent(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	one, two := `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "1"}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "2"}}`
	set := func(text string) []string { return []string{"-n", ns, "--apply-set=shop", "-f", e2etest.File(t, text)} }
	e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply"}, set(one)...)...).Ends(t, 0)
	confirm := append([]string{"apply", "--confirm=" + e2etest.Confirmable(t, c, set(two)...)}, set(two)...)
	e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0)
	e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply"}, set(one)...)...).Ends(t, 0)
	e2etest.Kubectl(t, c, "delete", "secret/shop", "-n", ns)
	e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 1).Says(t, "the plan was already applied by run")
	e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "--confirm=" + e2etest.Confirmable(t, c, set(two)...)}, set(two)...)...).Ends(t, 0)
}

// A run that failed can be continued with its plan, unless another run has changed the set since.
func TestConfirmSuperseded(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	one := `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "1"}}`
	two := strings.Replace(one, `"1"`, `"2"`, 1) + `
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeSelector: {missing: node}, containers: [{name: c, image: registry.example/c:1}]}}`
	for _, superseded := range []bool{false, true} {
		ns := e2etest.Namespace(t, c)
		set := []string{"-n", ns, "--apply-set=shop", "-f", e2etest.File(t, two)}
		first := []string{"apply", "-n", ns, "--apply-set=shop", "-f", e2etest.File(t, one)}
		e2etest.Plugin(t, c.KubeconfigPath, first...).Ends(t, 0)
		confirm := append([]string{"apply", "--confirm=" + e2etest.Confirmable(t, c, set...)}, set...)
		e2etest.Plugin(t, c.KubeconfigPath, append(confirm, "--wait", "--timeout=3s", "--run-id=cut")...).Ends(t, 1)
		if !superseded {
			e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0).Says(t, "nothing is left to do: the plan was already applied")
			continue
		}
		e2etest.Plugin(t, c.KubeconfigPath, append(first, "--run-id=next")...).Ends(t, 0)
		e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 1).Matches(t, "nothing was written: run cut on .* began to apply the plan, and run next has changed the set since")
	}
}

// A plan masks the value of a Secret that is not in the plan, and is confirmed nevertheless. A file in
// which an editor has masked another value is refused, because the reviewer could not see the value.
func TestConfirmMasked(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	e2etest.Kubectl(t, c, "create", "secret", "generic", "outside", "-n", ns, "--from-literal=password=hunter2-hunter2")
	manifests := func(url string) string {
		return e2etest.File(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: url}, data: {url: "`+url+`", other: "`+url[:1]+`"}}
---
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec: {containers: [{name: c, image: registry.example/c:1, env: [{name: P, valueFrom: {secretKeyRef: {name: outside, key: password}}}]}]}`)
	}
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", manifests("https://db")).Ends(t, 0)
	e2etest.Kubectl(t, c, "delete", "pod/reader", "-n", ns, "--wait=false", "--force", "--grace-period=0")
	set := []string{"-n", ns, "-f", manifests("x://hunter2-hunter2@db")}
	plan := e2etest.Confirmable(t, c, set...)
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), "***@db") {
		t.Fatalf("the plan does not mask the value: %s", text)
	}
	edited := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(edited, []byte(strings.Replace(string(text), `"to": "x"`, `"to": "***"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "--confirm=" + edited}, set...)...).Ends(t, 1).Says(t, "nothing was written")
	e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "--confirm=" + plan}, set...)...).Ends(t, 0)
	e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "--confirm=" + plan}, set...)...).Ends(t, 0).Says(t, "nothing is left to do")
}

// The output masks no value that is the name of an object which the run has read, although it is also the value
// of a Secret in the plan. The digest masks it. Such a plan can be confirmed, and an edited one cannot.
func TestConfirmMaskedLess(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	const name = "the-name-of-another-secret"
	e2etest.Kubectl(t, c, "create", "secret", "generic", name, "-n", ns, "--from-literal=k=v")
	manifests := func(value string) string {
		text := `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: ` + value + `}}` + "\n---\n" +
			`{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {k: ` + name + `}}` + "\n"
		for i := range 12 { // so many that they are listed
			text += fmt.Sprintf("---\n{apiVersion: v1, kind: Secret, metadata: {name: s%d}, stringData: {k: v}}\n", i)
		}
		return e2etest.File(t, text)
	}
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", manifests("x")).Ends(t, 0)
	set := []string{"-n", ns, "-f", manifests(name)}
	plan := e2etest.Confirmable(t, c, set...)
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"to": "`+name) {
		t.Fatalf("the plan masks the name: %s", text)
	}
	edited := e2etest.File(t, strings.Replace(string(text), `"to": "`+name, `"to": "`+name+"s", 1))
	e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "--confirm=" + edited}, set...)...).Ends(t, 2).Says(t, "the file was edited")
	e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "--confirm=" + plan}, set...)...).Ends(t, 0)
	e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "--confirm=" + plan}, set...)...).Ends(t, 0).Says(t, "nothing is left to do")
}

// An account that cannot get the namespace kube-system makes a plan that is bound to no cluster, and
// cannot confirm one that is bound.
func TestConfirmWithoutKubeSystem(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns := e2etest.Namespace(t, c)
	set := []string{"-n", ns, "-f", e2etest.File(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "1"}}`)}
	roles := e2etest.RolesOf(t, e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "--dry-run=server", "-o", "role"}, set...)...).Ends(t, 0).Stdout.String())
	if len(roles[0].Rules) != 1 || roles[0].Rules[0].ResourceNames[0] != "kube-system" {
		t.Fatalf("the ClusterRole is %v, want only the right to get kube-system", roles[0])
	}
	kubeconfig := roles[1:].Account(t, c, ns, nil)
	bound := e2etest.Confirmable(t, c, set...)
	digest := strings.TrimSpace(e2etest.After(e2etest.Plugin(t, c.KubeconfigPath, append([]string{"diff"}, set...)...).Stdout.String(), "# confirm this with --confirm="))
	for _, confirm := range []string{bound, digest} {
		e2etest.Plugin(t, kubeconfig, append([]string{"apply", "--confirm=" + confirm}, set...)...).Ends(t, 2).
			Says(t, "nothing was written").Says(t, "unknown").Says(t, "allow the account to get the namespace kube-system")
	}
	if out := e2etest.Kubectl(t, c, "get", "configmap/a", "-n", ns, "--ignore-not-found"); out != "" {
		t.Errorf("a refused run wrote: %s", out)
	}
	plan := e2etest.Plugin(t, kubeconfig, append([]string{"diff", "-o", "json"}, set...)...).Ends(t, 1).Stdout.String()
	e2etest.Plugin(t, kubeconfig, append([]string{"apply", "--confirm=" + e2etest.File(t, plan)}, set...)...).Ends(t, 0).Says(t, "the plan is not bound to a cluster")
}

// A plan for one cluster is refused on another one that is alike. The other cluster is the same
// server with another UID in the plan and its digest, so the digest alone is refused, too.
func TestConfirmOtherCluster(t *testing.T) {
	t.Parallel()
	c, other := shared.Cluster(t), cluster.ForTest(t, cluster.Options{})
	set := e2etest.File(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {k: "1"}}`)
	r := e2etest.Plugin(t, c.KubeconfigPath, "diff", "-f", set).Ends(t, 1)
	_, digest, _ := strings.Cut(strings.TrimSpace(r.Stdout.String()), "# confirm this with ")
	plan := e2etest.Confirmable(t, c, "-f", set)
	for _, confirm := range []string{digest, "--confirm=" + plan} {
		e2etest.Plugin(t, other.KubeconfigPath, "apply", "-f", set, confirm).Ends(t, 1).Says(t, "nothing was written")
	}
	e2etest.Plugin(t, other.KubeconfigPath, "apply", "-f", set, "--confirm="+plan).Matches(t, `the plan was reviewed for cluster \S+ \(.*\), this is cluster \S+ \(`)
	if out := e2etest.Kubectl(t, other, "get", "configmap/a", "-n", "default", "--ignore-not-found"); out != "" {
		t.Errorf("the other cluster has the object: %s", out)
	}
	edited := filepath.Join(t.TempDir(), "plan.json")
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	uid := func(c *cluster.Cluster) string {
		return e2etest.Kubectl(t, c, "get", "namespace/kube-system", "-o", "jsonpath={.metadata.uid}")
	}
	if err := os.WriteFile(edited, []byte(strings.ReplaceAll(string(text), uid(c), uid(other))), 0o600); err != nil {
		t.Fatal(err)
	}
	e2etest.Plugin(t, other.KubeconfigPath, "apply", "-f", set, "--confirm="+edited).Ends(t, 1).Says(t, "the file was edited")
}
