package e2e_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// If an operator installs a definition later, the run waits until the kind is served (edge case
// 18). It does so if a role in the set lets the operator serve that group, or if the user names the
// kind.
func TestDefinitionInstalledLater(t *testing.T) {
	const set = `
apiVersion: GROUP.example.com/v1
kind: Late
metadata: {name: one}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator}
spec:
  replicas: 0
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec: {serviceAccountName: operator, containers: [{name: app, image: "app:1"}]}
`
	const role = `
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: operator}
rules: [{apiGroups: [GROUP.example.com], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: operator}
subjects: [{kind: ServiceAccount, name: operator}]
`
	const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lates.GROUP.example.com}
spec:
  group: GROUP.example.com
  scope: Namespaced
  names: {kind: Late, plural: lates}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`
	for name, tt := range map[string]struct {
		set  string
		args []string
		says string
	}{
		"installed by the set's operator": {set + role, []string{"--server-timeout=2m"}, "waiting for Late to be served; deployment.apps/operator -n "},
		"installed by something else":     {set, []string{"--await-kinds"}, "waiting for Late to be served"},
	} {
		t.Run(name, func(t *testing.T) {
			c := shared.Cluster(t)
			ns := e2etest.Namespace(t, c)
			// Uses its own group: a deleted CRD may be served for another moment.
			named := func(manifest string) string { return strings.ReplaceAll(manifest, "GROUP", ns) }
			r := e2etest.Start(t, c.KubeconfigPath, append([]string{"apply", "-n", ns, "-f", e2etest.File(t, named(tt.set))}, tt.args...)...)
			r.Until(t, "the operator is there, and the run waits for its kind", func() bool {
				return strings.Contains(r.Stderr.String(), tt.says) && e2etest.Kubectl(t, c, "get", "deployment", "-n", ns, "-o", "name") != ""
			})
			e2etest.Kubectl(t, c, "apply", "-f", e2etest.File(t, named(definition)))
			r.Wait(t)
			r.Ends(t, 0).Says(t, named("created     late.GROUP.example.com/one"))
			e2etest.Kubectl(t, c, "delete", "customresourcedefinition", named("lates.GROUP.example.com"))
		})
	}
}

// A definition that another run has just applied is not served yet (edge case 18), so the run waits
// for it. With several API servers, that takes five seconds.
func TestDefinitionOfAnotherRun(t *testing.T) {
	t.Parallel() // uses its own cluster
	c := cluster.ForTest(t, cluster.Options{APIServerArgs: []string{"--apiserver-count=2"}})
	c.OwnOnly(t)
	const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gateways.soon.example.com}
spec:
  group: soon.example.com
  scope: Namespaced
  names: {kind: Gateway, plural: gateways}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`
	const set = "{apiVersion: soon.example.com/v1, kind: Gateway, metadata: {name: %s, namespace: default}}"
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", e2etest.File(t, definition)).Ends(t, 0)
	var runs sync.WaitGroup
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"one", []string{"apply"}, 0, "created     gateway.soon.example.com/one"},
		{"two", []string{"apply", "--dry-run=server"}, 0, "gateway.soon.example.com/two"},
		{"three", []string{"diff"}, 1, "gateway.soon.example.com/three"},
	} {
		r := e2etest.Start(t, c.KubeconfigPath, append(tt.args, "-f", e2etest.File(t, fmt.Sprintf(set, tt.name)))...)
		runs.Go(func() {
			r.Wait(t)
			r.Ends(t, tt.status).Says(t, tt.says).
				Says(t, "waiting for Gateway to be served; customresourcedefinition/gateways.soon.example.com defines")
		})
	}
	runs.Wait()
}

// If a definition has changed since the discovery cache was written, the run uses what the server
// serves now, like a run with an empty cache.
func TestDefinitionChangedSinceCached(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.%[1]s}
spec:
  group: %[1]s
  scope: %[3]s
  names: {kind: Thing, plural: %[2]s}
  versions:
  - {name: %[4]s, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
	for i, tt := range []struct {
		name               string
		before, after      string // its scope
		resource, version  string // scope afterwards; empty if deleted
		applied, different int    // exit statuses
		says               string
	}{
		{"same definition without objects", "Namespaced", "Namespaced", "things", "v1", 0, 1, "created     thing."},
		{"another resource", "Namespaced", "Namespaced", "objects", "v1", 0, 1, "created     thing."},
		{"now cluster-scoped", "Namespaced", "Cluster", "things", "v1", 0, 1, "created     thing."},
		{"now namespaced", "Cluster", "Namespaced", "things", "v1", 0, 1, "created     thing."},
		{"another version", "Namespaced", "Namespaced", "things", "v2", 1, 2, "this server has Thing in "},
		{"gone", "Namespaced", "", "", "", 1, 2, "the server does not serve the kind Thing in "},
	} {
		for j, like := range []struct {
			objects int  // read individually, and as a list
			large   bool // read while manifests are decoded
		}{{1, false}, {7, false}, {1, true}, {7, true}} {
			t.Run(fmt.Sprint(tt.name, " with ", like), func(t *testing.T) {
				if j != i%4 || i%2 == 0 { // one row of each kind
					circle.Full(t)
				}
				objects := like.objects
				ns := e2etest.Namespace(t, c)
				group := ns + ".example.com"
				text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n  namespace: %s\n", ns)
				if like.large {
					text += strings.Repeat("# "+strings.Repeat("x", 1000)+"\n", 200)
				}
				for n := range objects {
					text += fmt.Sprintf("---\napiVersion: %s/v1\nkind: Thing\nmetadata:\n  name: o%d\nspec: {a: 1}\n", group, n)
				}
				set, old := e2etest.File(t, text), "--cache-dir="+t.TempDir()
				e2etest.Kubectl(t, c, "apply", "-f", e2etest.File(t, fmt.Sprintf(definition, group, "things", tt.before, "v1")))
				e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", set, "-n", ns, old).Ends(t, 0)
				e2etest.Plugin(t, c.KubeconfigPath, "diff", "-f", set, "-n", ns, old).Ends(t, 0)

				e2etest.Kubectl(t, c, "delete", "customresourcedefinition", "things."+group)
				if tt.resource != "" {
					e2etest.Kubectl(t, c, "apply", "-f", e2etest.File(t, fmt.Sprintf(definition, group, tt.resource, tt.after, tt.version)))
					e2etest.Kubectl(t, c, "wait", "--for=jsonpath={.status.conditions[-1:].status}=True", "customresourcedefinition", tt.resource+"."+group)
					e2etest.Until(t, "it is served", func() bool {
						return e2etest.KubectlCommand(t, c, "get", "--raw", "/apis/"+group+"/"+tt.version+"/"+tt.resource).Run() == nil
					})
				}
				kept := t.TempDir() // the old cache, restored for each run
				if err := os.CopyFS(kept, os.DirFS(strings.TrimPrefix(old, "--cache-dir="))); err != nil {
					t.Fatal(err)
				}
				run := func(args ...string) (byOld, byNone *e2etest.Run) {
					copied := t.TempDir()
					if err := os.CopyFS(copied, os.DirFS(kept)); err != nil {
						t.Fatal(err)
					}
					args = append(args, "-f", set, "-n", ns)
					return e2etest.Plugin(t, c.KubeconfigPath, append(args, "--cache-dir="+copied)...),
						e2etest.Plugin(t, c.KubeconfigPath, append(args, "--cache-dir="+t.TempDir())...)
				}
				got, want := run("diff")
				got.Ends(t, tt.different)
				if want.Ends(t, tt.different); got.Stdout.String() != want.Stdout.String() {
					t.Errorf("with the old cache: %s\nwithout a cache: %s", got, want)
				}
				got, want = run("apply")
				got.Ends(t, tt.applied).Says(t, tt.says)
				if want.Ends(t, tt.applied); tt.applied == 0 {
					want.Says(t, fmt.Sprint(objects+1, " unchanged"))
				}
			})
		}
	}
}

// A run with definitions reads the complete discovery once before it writes, in parallel with its
// other reads, and once more when the kinds are served. The next run with the same cache need not,
// even if the first one failed in its last phase.
func TestDefinitionsAreCachedAfterRun(t *testing.T) {
	c := shared.Cluster(t)
	for name, fails := range map[string]bool{"whole": false, "failed in its last phase": true} {
		t.Run(name, func(t *testing.T) {
			p, kubeconfig := e2etest.Proxied(t, c)
			ns := e2etest.Namespace(t, c)
			group, image := ns+".example.com", "a"
			if fails {
				image = ""
			}
			set := e2etest.File(t, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gears.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Gear, plural: gears}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: first}}
---
{apiVersion: %[1]s/v1, kind: Gear, metadata: {name: gear}, spec: {a: 1}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: last}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: "%[2]s"}]}
`, group, image))
			cache := "--cache-dir=" + t.TempDir()
			e2etest.Plugin(t, kubeconfig, "diff", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(1, 1, "1")), cache).Ends(t, 1)
			everything := func(from int) (asked []string) {
				for _, r := range p.Requests()[from:] {
					if path, _, _ := strings.Cut(r.URI, "?"); path == "/api" || path == "/apis" {
						asked = append(asked, path)
					}
				}
				slices.Sort(asked)
				return asked
			}
			from, ends := len(p.Requests()), 0
			if fails {
				ends = 1
			}
			e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set, cache).Ends(t, ends).Says(t, "gear")
			// The run may end before the cache is complete.
			if asked := everything(from); len(asked) < 2 || len(asked) > 4 || asked[0] != "/api" {
				t.Errorf("the first run requested discovery %v, want 2 to 4 requests", asked)
			}
			from = len(p.Requests())
			e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set, cache).Ends(t, ends).Says(t, "unchanged")
			if asked := everything(from); asked != nil {
				t.Errorf("the second run requested discovery %v, want no request", asked)
			}
		})
	}
}
