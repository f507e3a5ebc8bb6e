package confirm_test

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// declared is the input before the review, and wanted the reviewed one. They contain each kind of
// change once, and an unchanged object.
const declared = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {k8sconnect.io/yield: .spec.replicas}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "app:1"}]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "1", l: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: same}, data: {k: "1"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {token: eA==}}
---
`

const (
	leaving = `{apiVersion: v1, kind: ConfigMap, metadata: {name: old}, data: {k: "1"}}`
	coming  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: new}, data: {k: "1"}}`
)

func wanted() string {
	return strings.NewReplacer(`"app:1"`, `"app:2"`, `{k: "1", l`, `{k: "2", l`, "eA==", "eQ==").Replace(declared) + coming
}

// mutation is a change between a diff and the write of a confirmed apply.
type mutation struct {
	// kubectl contains kubectl commands; applied is the input of one of them.
	kubectl []string
	applied string
	// manifest edits the input; nil keeps it.
	manifest func(string) string
	// named is the name of the object whose outcome changes, or empty.
	named string
	// before is the path, below the namespace, of an object whose write the mutation may precede;
	// empty if it may not.
	before string
	// raced is the name of the difference in that case, if it differs.
	raced string
	// continues is the message of a run that finds a part of the plan done; empty if it finds none.
	continues string
}

func mutations() map[string]mutation {
	const (
		web = "deployments/web"
		a   = "configmaps/a"
	)
	return map[string]mutation{
		"nothing": {},
		"an image": {
			kubectl: []string{"set image deployment/web app=app:hot --field-manager=hotfix"}, before: web,
			named: `deployment.apps/web .*\.spec\.template\.spec\.containers\[name="app"\]\.image\n.*reviewed app:1 → app:2, now app:hot → app:2, contested \(hotfix, \d+s ago\)`,
			raced: `conflict +deployment.apps/web`,
		},
		"replicas on a yielded path": {kubectl: []string{"scale deployment/web --replicas=5"}, before: web},
		"status":                     {kubectl: []string{`patch deployment/web --subresource=status -p {"status":{"collisionCount":7}}`}, before: web},
		"a label in no manifest":     {kubectl: []string{"label configmap/a team=shop"}, before: a},
		"another owner of a value that changes": {
			kubectl: []string{"apply --server-side --field-manager=other -f APPLIED"}, applied: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "1"}}`, before: a,
			named: `configmap/a .*\.data\.k\n.*now "1" → "2", contested \(other`, raced: `conflict +configmap/a`,
		},
		"another owner of a value that stays": {
			kubectl: []string{"apply --server-side --field-manager=other -f APPLIED"}, applied: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {l: "1"}}`, before: a,
		},
		"a Secret's value": {
			kubectl: []string{"apply --server-side --field-manager=k8sconnect -f APPLIED --force-conflicts"}, before: "secrets/s",
			applied: `{apiVersion: v1, kind: Secret, metadata: {name: s, labels: {applyset.kubernetes.io/part-of: "ID"}}, data: {token: eg==}}`,
			named:   `nothing was written: a value in secret/s -n \S+ differs from the reviewed one`,
			raced:   `secret/s .*\n.*the result would differ from what was confirmed: reviewed to update, now with different values, fields or owners`,
		},
		"a deletion": {
			kubectl: []string{"delete configmap a"}, before: a,
			named: `configmap/a -n \S+\n.*reviewed to update, now to create`, raced: `configmap/a .*\n.*the result would differ from what was confirmed: reviewed to update, now to create`,
		},
		"a creation": {
			kubectl: []string{"create configmap new --from-literal=l=1"}, before: "configmaps/new",
			named: `configmap/new -n \S+\n.*reviewed to create, now to update`, raced: `configmap/new .*\n.*the result would differ from what was confirmed: `,
		},
		"a new conflict in an unchanged object": {
			kubectl: []string{`patch configmap/same --field-manager=hotfix -p {"data":{"k":"9"}}`},
			named:   `configmap/same -n \S+ +\.data\.k\n.*reviewed unchanged, now "9" → "1"`,
		},
		"a member added": {
			kubectl: []string{"apply --server-side --field-manager=k8sconnect -f APPLIED"},
			applied: `{apiVersion: v1, kind: ConfigMap, metadata: {name: extra, labels: {applyset.kubernetes.io/part-of: "ID"}}}`,
			named:   `configmap/extra -n \S+\n.*reviewed unchanged, now to delete`,
		},
		"a member gone": {kubectl: []string{"delete configmap old"}, continues: "continuing the plan: 1 of 5 objects already as reviewed"},
		"a member replaced": {
			kubectl: []string{"delete configmap old", "apply --server-side --field-manager=k8sconnect -f APPLIED"},
			applied: `{apiVersion: v1, kind: ConfigMap, metadata: {name: old, labels: {applyset.kubernetes.io/part-of: "ID"}}}`,
			named:   `configmap/old -n \S+\n.*reviewed to delete, now another object of that name`,
		},
		"a member that left the set": {
			kubectl: []string{"label configmap old applyset.kubernetes.io/part-of-"}, named: `configmap/old -n \S+\n.*reviewed to delete, now kept, or already gone`,
		},
		"the manifest edited": {
			manifest: func(text string) string { return strings.Replace(text, `{k: "2", l`, `{k: "3", l`, 1) },
			named:    `configmap/a .*\.data\.k\n.*reviewed "1" → "2", now "1" → "3"`,
		},
		"the manifest reordered": {manifest: func(text string) string {
			docs := strings.Split(text, "---\n")
			return docs[len(docs)-1] + "\n---\n" + strings.Join(docs[:len(docs)-1], "---\n# a remark\n")
		}},
	}
}

// A change between a diff and the confirming apply is refused if it alters the outcome: it is
// named, and nothing is written. If it comes right before a write, that object is not written.
// Other changes are accepted.
func TestConfirm(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	for name, m := range mutations() {
		t.Run(name, func(t *testing.T) {
			r := reviewedSet(t, c, m)
			m.do(t, c, r.ns, r.id)
			before := versions(t, c, r.ns)
			got := e2etest.Plugin(t, c.KubeconfigPath, r.args...)
			if m.continues != "" {
				got.Ends(t, 0).Says(t, m.continues)
				return
			}
			if m.named == "" {
				got.Ends(t, 0).Says(t, "1 pruned")
				return
			}
			got.Ends(t, 1).Matches(t, m.named)
			if now := versions(t, c, r.ns); now != before {
				t.Errorf("the refused run wrote: versions are %s, want %s", now, before)
			}
		})
		if m.before == "" {
			continue
		}
		t.Run(name+" right before the write", func(t *testing.T) {
			p, kubeconfig := e2etest.Proxied(t, c)
			r := reviewedSet(t, c, m)
			group := "/api/v1"
			if strings.HasPrefix(m.before, "deployments") {
				group = "/apis/apps/v1"
			}
			e2etest.Before(p, e2etest.Writes(group+"/namespaces/"+r.ns+"/"+m.before), func() { m.do(t, c, r.ns, r.id) })
			got := e2etest.Plugin(t, kubeconfig, r.args...)
			if m.named == "" {
				got.Ends(t, 0).Says(t, "1 pruned")
				return
			}
			got.Ends(t, 1).Matches(t, m.raced)
		})
	}
}

// reviewedRun is a set with a reviewed change, and the arguments that apply it.
type reviewedRun struct {
	ns, id string
	args   []string
}

func reviewedSet(t *testing.T, c *cluster.Cluster, m mutation) reviewedRun {
	t.Helper()
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, declared+leaving), "--apply-set=shop").Ends(t, 0)
	set := []string{"-n", ns, "--apply-set=shop", "--prune", "-f"}
	plan := e2etest.Confirmable(t, c, append(set, e2etest.File(t, wanted()))...)
	text := wanted()
	if m.manifest != nil {
		text = m.manifest(text)
	}
	id := e2etest.Kubectl(t, c, "get", "configmap/a", "-n", ns, "-o", `jsonpath={.metadata.labels.applyset\.kubernetes\.io/part-of}`)
	return reviewedRun{ns, id, append([]string{"apply", "--confirm=" + plan}, append(set, e2etest.File(t, text))...)}
}

func (m mutation) do(t *testing.T, c *cluster.Cluster, ns, id string) {
	t.Helper()
	for _, call := range m.kubectl {
		args := strings.Fields(call)
		for i, arg := range args {
			if arg == "APPLIED" {
				args[i] = e2etest.File(t, strings.Replace(m.applied, "ID", id, 1))
			}
		}
		e2etest.Kubectl(t, c, append(args, "-n", ns)...)
	}
}

// versions returns the versions of the set's objects and of its parent. For the Deployment, it
// returns the generation, because its controller writes the status.
func versions(t *testing.T, c *cluster.Cluster, ns string) string {
	t.Helper()
	const each = `jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`
	return e2etest.Kubectl(t, c, "get", "configmap,secret", "-n", ns, "-o", each) +
		e2etest.Kubectl(t, c, "get", "deployment/web", "-n", ns, "-o", "jsonpath={.metadata.generation}")
}

// A reviewed recreation deletes the object only in a version with the same outcome, whenever the
// object changes: before the run, before its apply, which the server refuses, or before its
// deletion. The outcome includes the fields that others lose.
func TestConfirmRecreate(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	const gone = "a deletion"
	all := map[string]mutation{
		"nothing": {},
		"status":  {kubectl: []string{`patch job/j --subresource=status -p {"status":{"conditions":[{"type":"Seen","status":"True"}]}}`}},
		"a label lost by the recreation": {
			kubectl: []string{"label job/j team=shop"}, named: `job\.batch/j -n \S+  \.metadata\.labels\.team\n.*reviewed unchanged, now shop → nothing`,
			raced: `job\.batch/j .*\n.*the result would differ from what was confirmed: reviewed unchanged, now shop → nothing`,
		},
		gone: {
			kubectl: []string{"delete job/j"}, named: `1 created`,
			raced: `job\.batch/j .*\n.*the result would differ from what was confirmed: reviewed to recreate, now to create`,
		},
		"recreated by hand": {
			kubectl: []string{"delete job/j", "apply --server-side --field-manager=k8sconnect -f APPLIED"}, applied: job("2"),
			named: `nothing is left to do: the plan was already applied`,
			raced: `1 unchanged|that object was left alone`,
		},
	}
	for _, moment := range []string{"", " before the apply", " before the deletion"} {
		for name, m := range all {
			if name == gone && moment == " before the deletion" {
				continue // would be deleted anyway
			}
			t.Run(name+moment, func(t *testing.T) {
				p, kubeconfig := e2etest.Proxied(t, c)
				ns := e2etest.Namespace(t, c)
				e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, job("1"))).Ends(t, 0)
				uid := func() string {
					return e2etest.Kubectl(t, c, "get", "job/j", "-n", ns, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}")
				}
				set := []string{"-n", ns, "--recreate=job/j", "-f", e2etest.File(t, job("2"))}
				plan := e2etest.Confirmable(t, c, set...)
				theirs := uid()
				do := func() { m.do(t, c, ns, ""); theirs = uid() }
				path := "/apis/batch/v1/namespaces/" + ns + "/jobs/j"
				switch moment {
				case "":
					do()
				case " before the apply":
					e2etest.Before(p, e2etest.Writes(path), do)
				default:
					e2etest.Before(p, func(r *http.Request) bool { return r.Method == http.MethodDelete && r.URL.Path == path }, do)
				}
				r := e2etest.Plugin(t, kubeconfig, append([]string{"apply", "--confirm=" + plan}, set...)...)
				if m.named == "" {
					r.Ends(t, 0).Says(t, "1 recreated")
					return
				}
				r.Matches(t, map[bool]string{true: m.named, false: m.raced}[moment == ""])
				if name == gone && moment == "" {
					r.Ends(t, 0) // The deletion was approved, whoever made it.
					return
				}
				if now := uid(); now != theirs {
					t.Errorf("the UID changed from %s to %s: %s", theirs, now, r)
				}
			})
		}
	}
}

func job(image string) string { return strings.ReplaceAll(e2etest.RecreatedJob, "IMAGE", image) }

// With --atomic, a confirmed run that may not write an object rolls back its writes so far,
// including recreations. A change that does not alter the outcome does not stop it.
func TestConfirmAtomic(t *testing.T) {
	c := shared.Cluster(t)
	const frozen = "\n---\n" + `{apiVersion: v1, kind: ConfigMap, metadata: {name: frozen}, immutable: true, data: {k: "1"}}`
	for name, status := range map[string]int{"status": 0, "an image": 1} {
		t.Run(name, func(t *testing.T) {
			p, kubeconfig := e2etest.Proxied(t, c)
			ns := e2etest.Namespace(t, c)
			last := strings.NewReplacer("annotations: {", "annotations: {config.kubernetes.io/depends-on: /namespaces/"+ns+"/ConfigMap/frozen, ")
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, last.Replace(declared)+leaving+frozen), "--apply-set=shop").Ends(t, 0)
			values := func() string {
				return e2etest.Kubectl(t, c, "get", "configmap/a", "configmap/old", "configmap/new", "secret/s", "configmap/frozen", "deployment/web", "-n", ns, "--ignore-not-found",
					"-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name} {.data}{.spec.template.spec.containers[0].image}{"\n"}{end}`)
			}
			set := []string{"-n", ns, "--apply-set=shop", "--prune", "--recreate=configmap/frozen", "-f", e2etest.File(t, last.Replace(wanted())+strings.Replace(frozen, `"1"`, `"2"`, 1))}
			plan := e2etest.Confirmable(t, c, set...)
			was := values()
			e2etest.Before(p, e2etest.Writes("/apis/apps/v1/namespaces/"+ns+"/deployments/web"), func() { mutations()[name].do(t, c, ns, "") })
			r := e2etest.Plugin(t, kubeconfig, append([]string{"apply", "--atomic", "--confirm=" + plan}, set...)...).Ends(t, status)
			if status == 0 {
				r.Says(t, "1 recreated").Says(t, "1 pruned")
				return
			}
			r.Says(t, "restored    configmap/frozen").Says(t, "restored    configmap/a").Says(t, "deleted     configmap/new")
			if now := values(); now != strings.Replace(was, "web app:1", "web app:hot", 1) {
				t.Errorf("state after the rollback:\n%s\nwant the state before the run:\n%s\n%s", now, was, r)
			}
		})
	}
}

// sizedWidgets returns the CRD of a group.
const sizedWidgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}, color: {type: string}}}
`

// A default from another schema changes no field that the manifest sets. A schema that rejects the
// object ends the run. The set itself may contain the CRD, or change it.
func TestConfirmDefinitions(t *testing.T) {
	c := shared.Cluster(t)
	const object = "---\n{apiVersion: GROUP/v1, kind: Widget, metadata: {name: w}, spec: {size: 1}}\n"
	begin := func(t *testing.T) (ns string, in func(string) string) {
		t.Helper()
		ns = e2etest.Namespace(t, c)
		group := ns + ".example.com"
		t.Cleanup(func() { _ = e2etest.KubectlCommand(t, c, "delete", "crd", "widgets."+group, "--wait=false").Run() })
		return ns, func(text string) string { return e2etest.File(t, strings.ReplaceAll(text, "GROUP", group)) }
	}
	larger := strings.Replace(object, "size: 1", "size: 2", 1)
	t.Run("the set contains the definition", func(t *testing.T) {
		ns, in := begin(t)
		set := in(sizedWidgets + object)
		plan := e2etest.Confirmable(t, c, "-n", ns, "-f", set)
		e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set, "--confirm="+plan).Ends(t, 0).Says(t, "2 created")
	})
	t.Run("the set changes the definition", func(t *testing.T) {
		ns, in := begin(t)
		e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", in(sizedWidgets+object)).Ends(t, 0)
		set := in(strings.Replace(sizedWidgets, "color: {type: string}", "color: {type: string, default: red}", 1) + larger)
		plan := e2etest.Confirmable(t, c, "-n", ns, "-f", set)
		e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set, "--confirm="+plan).Ends(t, 0).Says(t, "2 configured")
	})
	for name, tc := range map[string]struct {
		from, to, says string
		status         int
	}{
		"a new default":                    {"color: {type: string}", "color: {type: string, default: red}", "1 configured", 0},
		"a schema that rejects the object": {"size: {type: integer}", "size: {type: integer, maximum: 1}", "nothing was written: the result is unknown for 1 object", 2},
	} {
		t.Run(name, func(t *testing.T) {
			ns, in := begin(t)
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", in(sizedWidgets+object)).Ends(t, 0)
			set := in(larger)
			plan := e2etest.Confirmable(t, c, "-n", ns, "-f", set)
			e2etest.Kubectl(t, c, "apply", "--server-side", "--force-conflicts", "-f", in(strings.Replace(sizedWidgets, tc.from, tc.to, 1)))
			e2etest.Until(t, "the schema counts", func() bool {
				probe := in(strings.Replace(larger, "name: w", "name: probe", 1))
				out, err := e2etest.KubectlCommand(t, c, "apply", "--server-side", "--dry-run=server", "-n", ns, "-f", probe, "-o", "yaml").Output()
				return err != nil || strings.Contains(string(out), "color: red")
			})
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set, "--confirm="+plan).Ends(t, tc.status).Says(t, tc.says)
		})
	}
}

// A confirmed run costs as much as an apply, a dry run for each object that changes, and the read of
// the cluster's UID. It repeats no read of the comparison. An apply itself sends 16 of these dry runs,
// to find values that admission rewrites.
func TestConfirmedRequests(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	requests := func(ns, set string, args ...string) int {
		t.Helper()
		e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(60, 10, "1"))).Ends(t, 0)
		from := len(p.Requests())
		e2etest.Plugin(t, kubeconfig, append([]string{"apply", "-n", ns, "-f", set}, args...)...).Ends(t, 0).Says(t, "20 configured, 40 unchanged")
		return len(p.Requests()) - from
	}
	ns := e2etest.Namespace(t, c)
	set := e2etest.File(t, e2etest.ConfigMaps(20, 10, "2")+strings.TrimPrefix(e2etest.ConfigMaps(60, 10, "1"), e2etest.ConfigMaps(20, 10, "1")))
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(60, 10, "1"))).Ends(t, 0)
	plan := e2etest.Confirmable(t, c, "-n", ns, "-f", set)
	plain := requests(ns, set)
	if confirmed := requests(ns, set, "--confirm="+plan); confirmed != plain-16+21 {
		t.Errorf("%d requests without --confirm, %d with it, want 5 more", plain, confirmed)
	}
}

// If the check before the first write is interrupted, the report has every object as skipped.
func TestInterruptedCheckOfAPlan(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	const n = 12
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	set := e2etest.File(t, e2etest.ConfigMaps(n, 1, "1"))
	plan := e2etest.Confirmable(t, c, "-n", ns, "-f", set)
	reads := proxy.Path(http.MethodGet, "/api/v1/namespaces/"+ns+"/configmaps")
	p.Fail(-1, reads, proxy.Fault{Delay: time.Minute, Slow: true})
	r := e2etest.Start(t, kubeconfig, "apply", "-n", ns, "-f", set, "--confirm="+plan, "-o", "json")
	r.Until(t, "it reads the objects", func() bool {
		return slices.ContainsFunc(p.Requests(), func(r proxy.Request) bool { return strings.Contains(r.URI, ns+"/configmaps") })
	})
	r.Signal(t, syscall.SIGINT)
	r.Wait(t)
	if got := r.Ends(t, 2).Says(t, "error: interrupted").Report(t).Summary; got["skipped"] != n || got["failed"] != 0 {
		t.Errorf("summary %v, want %d skipped: %s", got, n, r)
	}
}
