package confirm_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// pruning is a set that updates a ConfigMap and prunes another one.
const (
	pruneBefore = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {k: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: old}, data: {k: "1"}}
`
	pruneAfter = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "2"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {k: "1"}}
`
	member = `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, labels: {applyset.kubernetes.io/part-of: "ID"}}, data: {k: "new"}}`
)

// A reviewed deletion is made, or the run says that it was not, ends with status 1 and keeps the object. No
// other object is deleted. This is the same whenever the object changes: before the run, after its check,
// or right before the deletion.
func TestConfirmedPrune(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	type result struct {
		ends int
		says string
		// stays means that there is an object of that name.
		stays bool
	}
	refused := result{1, "nothing was written", true}
	kept := result{1, "kept, but reviewed to be deleted: configmap/old", true}
	done := result{0, "", false}
	events := map[string]struct {
		do mutation
		// before the run, after its check, and before the deletion
		want [3]result
	}{
		"nothing":   {mutation{}, [3]result{done, done, done}},
		"a change":  {mutation{kubectl: []string{"label configmap old team=shop"}}, [3]result{done, done, done}},
		"a value":   {mutation{kubectl: []string{`patch configmap old -p {"data":{"k":"9"}}`}}, [3]result{done, done, done}},
		"a removal": {mutation{kubectl: []string{"delete configmap old"}}, [3]result{done, done, done}},
		"another object of its name": {
			mutation{kubectl: []string{"delete configmap old", "apply --server-side --field-manager=k8sconnect -f APPLIED"}, applied: strings.Replace(member, "NAME", "old", 1)},
			[3]result{refused, {0, "not among the deletions shown", true}, {0, "another object has its name now", true}},
		},
		"another object of its name, outside the set": {
			mutation{kubectl: []string{"delete configmap old", "create configmap old"}},
			[3]result{{0, "", true}, {0, "", true}, {0, "another object has its name now", true}},
		},
		"it leaves the set":  {mutation{kubectl: []string{"label configmap old applyset.kubernetes.io/part-of-"}}, [3]result{refused, kept, kept}},
		"it is to be kept":   {mutation{kubectl: []string{"annotate configmap old k8sconnect.io/prune=disabled"}}, [3]result{refused, kept, kept}},
		"Helm claims it":     {mutation{kubectl: []string{"annotate configmap old meta.helm.sh/release-name=web"}}, [3]result{refused, kept, kept}},
		"another set has it": {mutation{kubectl: []string{"label configmap old --overwrite applyset.kubernetes.io/part-of=applyset-other-v1"}}, [3]result{refused, kept, kept}},
		"a member comes": {
			mutation{kubectl: []string{"apply --server-side --field-manager=k8sconnect -f APPLIED"}, applied: strings.Replace(member, "NAME", "late", 1)},
			[3]result{refused, done, done},
		},
	}
	random := e2etest.Randomly(t)
	for _, name := range slices.Sorted(maps.Keys(events)) {
		tt, only := events[name], random.IntN(3)
		for i, moment := range []string{"before the run", "after the check", "before the deletion"} {
			if circle.Of(i != only, false, false) {
				continue
			}
			t.Run(name+" "+moment, func(t *testing.T) {
				t.Parallel()
				p, kubeconfig := e2etest.Proxied(t, c)
				ns := e2etest.Namespace(t, c)
				e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set=shop", "-f", e2etest.File(t, pruneBefore)).Ends(t, 0)
				set := []string{"-n", ns, "--apply-set=shop", "--prune", "-f", e2etest.File(t, pruneAfter)}
				confirm := append([]string{"apply", "--confirm=" + e2etest.Confirmable(t, c, set...)}, set...)
				id := e2etest.Kubectl(t, c, "get", "configmap/a", "-n", ns, "-o", `jsonpath={.metadata.labels.applyset\.kubernetes\.io/part-of}`)
				get := func(name, path string) string {
					return e2etest.Kubectl(t, c, "get", "configmap/"+name, "-n", ns, "--ignore-not-found", "-o", "jsonpath={"+path+"}")
				}
				theirs := ""
				do := func() { tt.do.do(t, c, ns, id); theirs = get("old", ".metadata.uid") }
				switch moment {
				case "before the run":
					do()
				case "after the check":
					e2etest.Before(p, e2etest.Writes("/api/v1/namespaces/"+ns+"/configmaps/a"), do)
				default:
					e2etest.Before(p, func(r *http.Request) bool {
						return r.Method == http.MethodDelete && r.URL.Path == "/api/v1/namespaces/"+ns+"/configmaps/old" && !strings.Contains(r.URL.RawQuery, "dryRun")
					}, do)
				}
				r, want := e2etest.Plugin(t, kubeconfig, confirm...), tt.want[i]
				r.Ends(t, want.ends).Says(t, want.says)
				if now := get("old", ".metadata.uid"); (now != "") != want.stays || want.stays && now != theirs {
					t.Errorf("the UID of the pruned object is %q, was %q: %s", now, theirs, r)
				}
				if name == "a member comes" && get("late", ".metadata.uid") == "" {
					t.Errorf("the run has deleted what was not reviewed: %s", r)
				}
				if written := get("a", ".data.k") == "2"; written == (want.says == "nothing was written") {
					t.Errorf("written: %t: %s", written, r)
				}
				// A plan that was not applied whole stays refused, and one that was has nothing left to do.
				again := e2etest.Plugin(t, kubeconfig, confirm...)
				if want.ends == 1 || name == "a member comes" || name == "another object of its name" {
					again.Ends(t, 1).Says(t, "nothing was written")
				} else {
					again.Ends(t, 0).Says(t, "nothing is left to do")
				}
			})
		}
	}
}

// A finalizer holds up a reviewed deletion. Once it is gone, the same plan has nothing left to do.
func TestConfirmedPruneWithFinalizer(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set=shop", "-f", e2etest.File(t, pruneBefore)).Ends(t, 0)
	set := []string{"-n", ns, "--apply-set=shop", "--prune", "-f", e2etest.File(t, pruneAfter)}
	confirm := append([]string{"apply", "--confirm=" + e2etest.Confirmable(t, c, set...)}, set...)
	e2etest.Kubectl(t, c, "patch", "configmap/old", "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	t.Cleanup(func() {
		_ = e2etest.KubectlCommand(t, c, "patch", "configmap/old", "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`).Run()
	})
	for range 2 {
		e2etest.Plugin(t, c.KubeconfigPath, append(confirm, "--timeout=3s")...).Ends(t, 1).Says(t, "configmap/old")
	}
	e2etest.Kubectl(t, c, "patch", "configmap/old", "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0)
	e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0).Says(t, "nothing is left to do")
}

// A plan that prunes custom resources and their CRD can be finished, and repeated, although nothing serves
// the kind any more. A version that the CRD has dropped since the review makes no difference.
func TestConfirmedPruneOfKinds(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	for _, done := range []string{"nothing", "the object", "all", "another version"} {
		t.Run(done, func(t *testing.T) {
			t.Parallel()
			ns := e2etest.Namespace(t, c)
			crd := "widgets." + ns + ".example.com"
			t.Cleanup(func() { _ = e2etest.KubectlCommand(t, c, "delete", "crd", crd, "--wait=false").Run() })
			widget := strings.ReplaceAll(sizedWidgets+"---\n{apiVersion: GROUP/v1, kind: Widget, metadata: {name: w}, spec: {size: 1}}\n", "GROUP", ns+".example.com")
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set=shop", "-f", e2etest.File(t, pruneBefore+"---\n"+widget)).Ends(t, 0)
			left, allow := pruneAfter, "--prune-allow=crd"
			if done == "another version" {
				left += "---\n" + strings.Split(widget, "---\n")[0]
			}
			set := []string{"-n", ns, "--apply-set=shop", "--prune", allow, "-f", e2etest.File(t, left)}
			confirm := append([]string{"apply", "--confirm=" + e2etest.Confirmable(t, c, set...)}, set...)
			switch done {
			case "the object", "another version":
				e2etest.Kubectl(t, c, "delete", crd+"/w", "-n", ns)
			case "all":
				e2etest.Kubectl(t, c, "delete", "crd", crd)
			}
			e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0)
			e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0).Says(t, "nothing is left to do")
		})
	}
}

// The name of a pruned object can also be the value of a Secret. It is masked neither in the plan nor in its
// digest, also once the object is gone.
func TestConfirmedPruneOfSecretName(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	const name = "the-configmap-that-goes"
	secret := `{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {k: ` + name + `}}` + "\n---\n"
	before := secret + `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "1"}}` + "\n---\n" + `{apiVersion: v1, kind: ConfigMap, metadata: {name: ` + name + `}}`
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set=shop", "-f", e2etest.File(t, before)).Ends(t, 0)
	after := secret + `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "` + name + `"}}`
	set := []string{"-n", ns, "--apply-set=shop", "--prune", "-f", e2etest.File(t, after)}
	confirm := append([]string{"apply", "--confirm=" + e2etest.Confirmable(t, c, set...)}, set...)
	e2etest.Kubectl(t, c, "delete", "configmap", name, "-n", ns)
	e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0).Says(t, "continuing the plan: 1 of 2 objects already as reviewed")
	e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0).Says(t, "nothing is left to do")
}
