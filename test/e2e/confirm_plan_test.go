package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
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
				ns := namespace(t, c)
				as := func(text string) string {
					field := map[string]string{"ConfigMap": "data", "Secret": "stringData"}[kind]
					return file(t, strings.NewReplacer("KIND", kind, "FIELD", field).Replace(text))
				}
				k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", as(before)).ends(t, 0)
				set := []string{"-n", ns, "--recreate=" + kind, "-f", as(reviewed)}
				plan := confirmable(t, c, set...)
				if state != "before" {
					kubectl(t, c, "delete", kind+"/a", "-n", ns)
				}
				object, _, _ := strings.Cut(reviewed, "---")
				switch state {
				case "reviewed":
					k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", as(object)).ends(t, 0)
				case "otherwise":
					k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", as(strings.ReplaceAll(object, "2345678901", "3456789012"))).ends(t, 0)
				}
				data := func() string {
					return kubectl(t, c, "get", kind+"/a", "-n", ns, "--ignore-not-found", "-o", "jsonpath={.data.k}")
				}
				was := data()
				confirm := append([]string{"apply", "--confirm=" + plan}, set...)
				got := k8sconnect(t, c.KubeconfigPath, confirm...)
				if state == "otherwise" {
					got.ends(t, 1).says(t, "nothing was written")
					if now := data(); now != was {
						t.Errorf("the refused run wrote %s over %s", now, was)
					}
					return
				}
				got.ends(t, 0)
				want := map[string]string{"ConfigMap": "2345678901", "Secret": "MjM0NTY3ODkwMQ=="}[kind]
				if now := data(); now != want {
					t.Errorf("the value is %q, want %q\n%s", now, want, got)
				}
				k8sconnect(t, c.KubeconfigPath, confirm...).ends(t, 0).says(t, "nothing is left to do: the plan was already applied")
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
			ns := namespace(t, c)
			k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", file(t, manifest("password-a1", "password-b1"))).ends(t, 0)
			set := []string{"-n", ns, "-f", file(t, manifest("password-a2", "password-b2"))}
			plan := confirmable(t, c, set...)
			k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", file(t, tt.between)).ends(t, 0)
			data := func() string {
				return kubectl(t, c, "get", "secret/a", "secret/b", "cm/url", "-n", ns, "-o", "jsonpath={.items[*].data}")
			}
			was := data()
			confirm := append([]string{"apply", "--confirm=" + plan}, set...)
			got := k8sconnect(t, c.KubeconfigPath, confirm...).ends(t, tt.ends)
			if tt.ends == 1 {
				got.says(t, "nothing was written")
				if now := data(); now != was {
					t.Errorf("the refused run wrote %s over %s", now, was)
				}
				return
			}
			want := `{"k":"cGFzc3dvcmQtYTI="} {"k":"cGFzc3dvcmQtYjI="} {"a":"https://password-b2@db"}`
			if now := data(); now != want {
				t.Errorf("the data is %s, want %s", now, want)
			}
			k8sconnect(t, c.KubeconfigPath, confirm...).ends(t, 0).says(t, "nothing is left to do: the plan was already applied")
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
			ns := namespace(t, c)
			set := func(text string) []string { return []string{"-n", ns, "--apply-set=shop", "-f", file(t, text)} }
			apply := func(text string, flags ...string) *run {
				return k8sconnect(t, c.KubeconfigPath, append(append([]string{"apply", history}, set(text)...), flags...)...)
			}
			data := func(want string) {
				t.Helper()
				if got := kubectl(t, c, "get", "configmap/a", "-n", ns, "-o", "jsonpath={.data.k}"); got != want {
					t.Errorf("the value is %s, want %s", got, want)
				}
			}
			review := func() (plan, digest string) {
				text := k8sconnect(t, c.KubeconfigPath, append([]string{"diff"}, set(two)...)...).ends(t, 1).stdout.String()
				_, digest, _ = strings.Cut(strings.TrimSpace(text), "# confirm this with ")
				if digest == "" {
					t.Fatalf("no digest in: %s", text)
				}
				return "--confirm=" + confirmable(t, c, set(two)...), digest
			}
			apply(one).ends(t, 0)
			plan, digest := review()
			apply(two, plan, "--run-id=first").ends(t, 0)
			data("2")
			for _, confirm := range []string{plan, digest} {
				apply(two, confirm).ends(t, 0).says(t, "nothing is left to do")
			}
			apply(strings.Replace(two, "name: a", "name: a, annotations: {}", 1), digest).ends(t, 1).says(t, "nothing was written")
			apply(one).ends(t, 0)
			data("1")
			for _, confirm := range []string{plan, digest} {
				apply(two, confirm).ends(t, 1).says(t, "the plan was already applied by run")
				apply(two, confirm, "--dry-run=server").ends(t, 1).says(t, "the plan was already applied by run")
			}
			data("1")

			again, digestAgain := review()
			if again == plan || digestAgain == digest {
				t.Errorf("the new review has the same digest: %s", digest)
			}
			apply(two, digestAgain).ends(t, 0)
			data("2")
			apply(one).ends(t, 0)
			for _, confirm := range []string{digest, digestAgain} {
				apply(two, confirm).ends(t, 1).says(t, "the plan was already applied by run")
			}
			third, _ := review()
			apply(two, third).ends(t, 0)
			data("2")
		})
	}
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
		ns := namespace(t, c)
		set := []string{"-n", ns, "--apply-set=shop", "-f", file(t, two)}
		first := []string{"apply", "-n", ns, "--apply-set=shop", "-f", file(t, one)}
		k8sconnect(t, c.KubeconfigPath, first...).ends(t, 0)
		confirm := append([]string{"apply", "--confirm=" + confirmable(t, c, set...)}, set...)
		k8sconnect(t, c.KubeconfigPath, append(confirm, "--wait", "--timeout=3s", "--run-id=cut")...).ends(t, 1)
		if !superseded {
			k8sconnect(t, c.KubeconfigPath, confirm...).ends(t, 0).says(t, "nothing is left to do: the plan was already applied")
			continue
		}
		k8sconnect(t, c.KubeconfigPath, append(first, "--run-id=next")...).ends(t, 0)
		k8sconnect(t, c.KubeconfigPath, confirm...).ends(t, 1).matches(t, "nothing was written: run cut on .* began to apply the plan, and run next has changed the set since")
	}
}

// A plan masks the value of a Secret that is not in the plan, and is confirmed nevertheless. A file in
// which an editor has masked another value is refused, because the reviewer could not see the value.
func TestConfirmMasked(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	ns := namespace(t, c)
	kubectl(t, c, "create", "secret", "generic", "outside", "-n", ns, "--from-literal=password=hunter2-hunter2")
	manifests := func(url string) string {
		return file(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: url}, data: {url: "`+url+`", other: "`+url[:1]+`"}}
---
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec: {containers: [{name: c, image: registry.example/c:1, env: [{name: P, valueFrom: {secretKeyRef: {name: outside, key: password}}}]}]}`)
	}
	k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", manifests("https://db")).ends(t, 0)
	kubectl(t, c, "delete", "pod/reader", "-n", ns, "--wait=false", "--force", "--grace-period=0")
	set := []string{"-n", ns, "-f", manifests("x://hunter2-hunter2@db")}
	plan := confirmable(t, c, set...)
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
	k8sconnect(t, c.KubeconfigPath, append([]string{"apply", "--confirm=" + edited}, set...)...).ends(t, 1).says(t, "nothing was written")
	k8sconnect(t, c.KubeconfigPath, append([]string{"apply", "--confirm=" + plan}, set...)...).ends(t, 0)
	k8sconnect(t, c.KubeconfigPath, append([]string{"apply", "--confirm=" + plan}, set...)...).ends(t, 0).says(t, "nothing is left to do")
}

// An account that cannot get the namespace kube-system makes a plan that is bound to no cluster, and
// cannot confirm one that is bound.
func TestConfirmWithoutKubeSystem(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns := namespace(t, c)
	set := []string{"-n", ns, "-f", file(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "1"}}`)}
	roles := rolesOf(t, k8sconnect(t, c.KubeconfigPath, append([]string{"apply", "--dry-run=server", "-o", "role"}, set...)...).ends(t, 0).stdout.String())
	if len(roles[0].Rules) != 1 || roles[0].Rules[0].ResourceNames[0] != "kube-system" {
		t.Fatalf("the ClusterRole is %v, want only the right to get kube-system", roles[0])
	}
	kubeconfig := roles[1:].account(t, c, ns, nil)
	bound := confirmable(t, c, set...)
	digest := strings.TrimSpace(after(k8sconnect(t, c.KubeconfigPath, append([]string{"diff"}, set...)...).stdout.String(), "# confirm this with --confirm="))
	for _, confirm := range []string{bound, digest} {
		k8sconnect(t, kubeconfig, append([]string{"apply", "--confirm=" + confirm}, set...)...).ends(t, 2).
			says(t, "nothing was written").says(t, "unknown").says(t, "allow the account to get the namespace kube-system")
	}
	if out := kubectl(t, c, "get", "configmap/a", "-n", ns, "--ignore-not-found"); out != "" {
		t.Errorf("a refused run wrote: %s", out)
	}
	plan := k8sconnect(t, kubeconfig, append([]string{"diff", "-o", "json"}, set...)...).ends(t, 1).stdout.String()
	k8sconnect(t, kubeconfig, append([]string{"apply", "--confirm=" + file(t, plan)}, set...)...).ends(t, 0).says(t, "the plan is not bound to a cluster")
}

// A plan for one cluster is refused on another one that is alike. The other cluster is the same
// server with another UID in the plan and its digest, so the digest alone is refused, too.
func TestConfirmOtherCluster(t *testing.T) {
	t.Parallel()
	c, other := shared.Cluster(t), cluster.ForTest(t, cluster.Options{})
	set := file(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {k: "1"}}`)
	r := k8sconnect(t, c.KubeconfigPath, "diff", "-f", set).ends(t, 1)
	_, digest, _ := strings.Cut(strings.TrimSpace(r.stdout.String()), "# confirm this with ")
	plan := confirmable(t, c, "-f", set)
	for _, confirm := range []string{digest, "--confirm=" + plan} {
		k8sconnect(t, other.KubeconfigPath, "apply", "-f", set, confirm).ends(t, 1).says(t, "nothing was written")
	}
	k8sconnect(t, other.KubeconfigPath, "apply", "-f", set, "--confirm="+plan).matches(t, `the plan was reviewed for cluster \S+ \(.*\), this is cluster \S+ \(`)
	if out := kubectl(t, other, "get", "configmap/a", "-n", "default", "--ignore-not-found"); out != "" {
		t.Errorf("the other cluster has the object: %s", out)
	}
	edited := filepath.Join(t.TempDir(), "plan.json")
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	uid := func(c *cluster.Cluster) string {
		return kubectl(t, c, "get", "namespace/kube-system", "-o", "jsonpath={.metadata.uid}")
	}
	if err := os.WriteFile(edited, []byte(strings.ReplaceAll(string(text), uid(c), uid(other))), 0o600); err != nil {
		t.Fatal(err)
	}
	k8sconnect(t, other.KubeconfigPath, "apply", "-f", set, "--confirm="+edited).ends(t, 1).says(t, "the file was edited")
}
