package flux_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

const applications = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: applications.argoproj.io}
spec:
  group: argoproj.io
  scope: Namespaced
  names: {kind: Application, listKind: ApplicationList, plural: applications, singular: application}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// argo is a namespace in which Argo CD's engine syncs an Application.
type argo struct {
	*site
	program    string
	serverSide bool
}

func newArgo(t *testing.T, serverSide bool) *argo {
	t.Helper()
	program, err := filepath.Abs(filepath.Join("..", "..", "..", "bin", "argocd-sync"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("bin/argocd-sync is missing: make bin/argocd-sync")
	}
	c := shared.Cluster(t)
	s := &argo{&site{Cluster: c, helm: chart.NewHelm(t, c.KubeconfigPath), namespace: e2etest.Namespace(t, c)}, program, serverSide}
	s.apply(t, applications)
	e2etest.Kubectl(t, c, "wait", "--for=condition=Established", "crd/applications.argoproj.io")
	s.apply(t, "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: apps}\nspec: {destination: {server: https://kubernetes.default.svc}}\n")
	return s
}

// sync lets Argo CD's engine apply the manifests and prune.
func (s *argo) sync(t *testing.T, manifests string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.program, fmt.Sprintf("-server-side=%t", s.serverSide), "apps", s.namespace, e2etest.File(t, manifests))
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.KubeconfigPath)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("argocd-sync: %v\n%s", err, out)
	}
	t.Logf("argocd-sync:\n%s", out)
}

// An object that moves between Argo CD and a Helm release or a set is neither deleted nor created again, at whichever
// write the move is killed and whichever tool runs first: Argo CD's own engine keeps an object with the annotation
// of the move, and applies and prunes one with the new marks. Afterwards, the new owner deletes it when it leaves
// its source.
func TestMovesWithArgoCD(t *testing.T) {
	circle.Full(t)
	for _, other := range []string{"helm", "set"} {
		for _, toArgo := range []bool{true, false} {
			for _, serverSide := range []bool{true, false} {
				for kill := 2; kill <= 4; kill++ { // At most three writes. With 4, none is cut off.
					for _, oldFirst := range []bool{true, false} {
						if other == "set" && toArgo && !oldFirst {
							continue // As printed, the object leaves the manifests of a set first.
						}
						name := fmt.Sprintf("%s-to-argo-%t-server-side-%t-killed-at-%d-old-first-%t", other, toArgo, serverSide, kill, oldFirst)
						t.Run(name, func(t *testing.T) { newArgo(t, serverSide).story(t, other, toArgo, kill, oldFirst) })
					}
				}
			}
		}
	}
}

func (s *argo) story(t *testing.T, other string, toArgo bool, kill int, oldFirst bool) {
	changed := false
	source := func(name string, has bool) string {
		text := source(name, has)
		if changed {
			text = strings.Replace(text, "{a: b}", "{c: d}", 1)
		}
		return text
	}
	argo := func(has bool) { t.Helper(); s.sync(t, source("argo", has)) }
	tool := func(has bool) {
		t.Helper()
		_, err := s.helm.Try(t.Context(), "upgrade", "--install", "web", folder(t, source("helm", has)), "-n", s.namespace)
		if err != nil && (!has || kill == 4 || !strings.Contains(err.Error(), "cannot be imported")) {
			t.Errorf("helm: %v", err)
		}
	}
	flag, named := "release", s.namespace+"/web"
	if other == "set" {
		flag, named = "set", "shop"
		tool = func(has bool) {
			t.Helper()
			run := e2etest.Plugin(t, s.KubeconfigPath, "apply", "-f", e2etest.File(t, source("set", has)), "-n", s.namespace, "--apply-set=shop", "--prune", "--yes", "--wait=false")
			// While Argo CD has the object in its source, it adds its mark again, and the set refuses the object.
			if status := run.Wait(t); status != 0 && (!has || toArgo || !strings.Contains(run.String(), "it belongs to Argo CD Application")) {
				t.Errorf("the set: exit status %d: %s", status, run)
			}
		}
	}
	from, to := tool, argo
	app := "application/" + s.namespace + "/apps"
	move := []string{"give", "cm/moves", "-n", s.namespace, "--from-" + flag + "=" + named, "--to-inventory=" + app}
	if !toArgo {
		from, to = argo, tool
		move[4], move[5] = "--from-inventory="+app, "--to-"+flag+"="+named
	}
	from(true)
	to(false)
	uid := s.uid(t)
	same := func(when string) {
		t.Helper()
		if got := s.uid(t); got != uid || uid == "" {
			t.Fatalf("%s: the UID is %q, want %q", when, got, uid)
		}
	}
	s.killed(t, kill, move...)
	argo(!toArgo) // Argo CD syncs again with the sources as they were.
	same("Argo CD ran in between")
	if oldFirst {
		from(false)
		same("the old owner ran")
		to(true)
	} else {
		to(true)
		same("the new owner ran")
		from(false)
	}
	same("both ran")
	for range 2 { // Before, Helm could not import an object without its marks.
		e2etest.Plugin(t, s.KubeconfigPath, move...).Ends(t, 0)
		to(true)
	}
	if run := e2etest.Plugin(t, s.KubeconfigPath, move...).Ends(t, 0); strings.Contains(run.String(), "not finished") {
		t.Errorf("at the end: %s", run)
	}
	from(false)
	same("both ran again")
	changed = true
	to(true)
	same("the new owner changed it")
	if data := e2etest.Kubectl(t, s.Cluster, "get", "cm/moves", "-n", s.namespace, "-o", "jsonpath={.data}"); data != `{"c":"d"}` {
		t.Errorf("the new owner does not remove a field that leaves its source: %s", data)
	}
	if annotations := e2etest.Kubectl(t, s.Cluster, "get", "cm/moves", "-n", s.namespace, "-o", "jsonpath={.metadata.annotations}"); strings.Contains(annotations, "keep") || strings.Contains(annotations, "Prune=false") {
		t.Errorf("annotations: %s", annotations)
	}
	to(false)
	if got := s.uid(t); got != "" {
		t.Error("the new owner does not delete the object")
	}
}
