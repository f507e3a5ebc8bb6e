package give_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

const (
	stays = "{apiVersion: v1, kind: ConfigMap, metadata: {name: stays-NAME}}\n---\n"
	moved = web + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: moves}, data: {a: b}}\n"
)

func movedKinds() map[string]schema.GroupVersionResource {
	return map[string]schema.GroupVersionResource{"web": deployments, "moves": configMaps}
}

// A move between two Helm releases that is killed after any of its writes loses no object, whichever
// release is upgraded first, and recreates none. Repeated, the command finishes the move.
func TestMoveKilledAfterEachWrite(t *testing.T) {
	type story struct {
		kill     int
		oldFirst bool
		client   bool
	}
	var stories []story
	for _, client := range []bool{false, true} {
		for kill := 2; kill <= 7; kill++ { // Two objects, three writes each. With 7, no write is cut off.
			for _, oldFirst := range []bool{true, false} {
				stories = append(stories, story{kill, oldFirst, client})
			}
		}
	}
	step := circle.Of(5, 1, 1)
	for i := 0; i < len(stories); i += step {
		at := stories[i]
		t.Run(fmt.Sprintf("%+v", at), func(t *testing.T) {
			s := newSite(t, fmt.Sprintf("move-%d", i))
			h := chart.NewHelm(t, s.KubeconfigPath)
			method := fmt.Sprintf("--server-side=%t", !at.client)
			source := func(name string, has bool) string {
				text := strings.ReplaceAll(stays, "NAME", name)
				if has {
					text += moved
				}
				return folder(t, s, text)
			}
			h.Run(t, "install", "old", source("old", true), "-n", s.namespace, method)
			h.Run(t, "install", "new", source("new", false), "-n", s.namespace, method)
			uids := s.uids(t)
			move := []string{
				"give", "deploy/web", "configmap/moves", "--from-release=" + s.namespace + "/old", "--to-release=" + s.namespace + "/new",
			}
			s.killed(t, at.kill, move...)
			upgrade := func(name string, has bool) {
				t.Helper()
				_, err := h.Try(t.Context(), "upgrade", name, source(name, has), "-n", s.namespace)
				if err != nil && (name != "new" || at.kill == 7 || !strings.Contains(err.Error(), "cannot be imported")) {
					t.Errorf("upgrade of %s: %v", name, err)
				}
			}
			same := func(when string) {
				t.Helper()
				if got := s.uids(t); got != uids {
					t.Fatalf("%s: the objects are %s, want %s", when, got, uids)
				}
			}
			switch {
			case at.kill <= 4: // The second object was not protected yet, so the old chart still has it.
				if status, out := s.plugin(t, move...); status != 0 || !strings.Contains(out, "is not finished") {
					t.Errorf("repeated: exit status %d:\n%s", status, out)
				}
				fallthrough
			case at.oldFirst:
				upgrade("old", false)
				same("the old release was upgraded")
				upgrade("new", true)
			default:
				upgrade("new", true)
				same("the new release was upgraded")
				upgrade("old", false)
			}
			same("both were upgraded")
			for range 2 { // Before, the new release could not import what was not marked.
				if status, out := s.plugin(t, move...); status != 0 {
					t.Errorf("repeated: exit status %d:\n%s", status, out)
				}
				h.Run(t, "upgrade", "new", source("new", true), "-n", s.namespace)
			}
			status, out := s.plugin(t, move...)
			if status != 0 || strings.Contains(out, "is not finished") {
				t.Errorf("at the end: exit status %d:\n%s", status, out)
			}
			for name, kind := range movedKinds() {
				if u := s.get(t, kind, name); u.GetAnnotations()["helm.sh/resource-policy"] != "" || u.GetAnnotations()["meta.helm.sh/release-name"] != "new" {
					t.Errorf("%s: %v", name, u.GetAnnotations())
				}
			}
			upgrade("old", false)
			h.Run(t, "upgrade", "new", source("new", true), "-n", s.namespace)
			same("both were upgraded again")
			h.Run(t, "uninstall", "old", "-n", s.namespace)
			same("the old release was uninstalled")
			h.Run(t, "upgrade", "new", source("new", false), "-n", s.namespace)
			if _, err := s.of(configMaps).Get(t.Context(), "moves", metav1.GetOptions{}); err == nil {
				t.Error("the new release does not delete what leaves its chart")
			}
		})
	}
}

func (s *site) uids(t *testing.T) string {
	t.Helper()
	var out []string
	for _, name := range []string{"web", "moves"} {
		u, err := s.of(movedKinds()[name]).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		out = append(out, string(u.GetUID()))
	}
	return strings.Join(out, " ")
}

// killed runs the plugin, and ends it when it sends its nth write, which does not reach the server.
func (s *site) killed(t *testing.T, nth int, args ...string) {
	t.Helper()
	p, kubeconfig := s.proxied(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	writes := 0
	p.Fail(-1, func(r *http.Request) bool {
		if r.Method == http.MethodGet || strings.Contains(r.URL.RawQuery, "dryRun") {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		if writes++; writes == nth {
			cancel()
		}
		return writes >= nth
	}, proxy.Fault{Status: http.StatusServiceUnavailable, Delay: time.Minute})
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	args = append([]string{"kubectl-k8sconnect"}, append(args, "--kubeconfig="+kubeconfig, "--cache-dir="+t.TempDir(), "-n", s.namespace)...)
	cli.Main(ctx, args, streams)
	t.Logf("killed at write %d:\n%s", nth, out)
}

func (s *site) proxied(t *testing.T) (*proxy.HTTP, string) {
	t.Helper()
	s.OwnOnly(t)
	p, err := s.HTTPProxy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	kubeconfig, err := s.Kubeconfig(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	return p, kubeconfig
}

// An object moves from Helm to Flux, and from there to Argo CD: marks, owners, and the annotation that
// the old tool honours. Once only the new tool lists the object, the annotation is removed.
func TestMoveBetweenTools(t *testing.T) {
	s := toolSite(t, "argocd")
	h := chart.NewHelm(t, s.KubeconfigPath)
	text := strings.ReplaceAll(stays, "NAME", "x")
	h.Run(t, "install", "old", folder(t, s, text+moved), "-n", s.namespace)
	s.apply(t, "flux", "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: apps}}")
	s.apply(t, "argocd", "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: shop}}")
	check := func(when string, labels, annotations map[string]string, owner string) {
		t.Helper()
		u := s.get(t, configMaps, "moves")
		if got := u.GetLabels(); fmt.Sprint(got) != fmt.Sprint(labels) {
			t.Errorf("%s: labels %v, want %v", when, got, labels)
		}
		if got := u.GetAnnotations(); fmt.Sprint(got) != fmt.Sprint(annotations) {
			t.Errorf("%s: annotations %v, want %v", when, got, annotations)
		}
		if fields := fieldsOf(u, owner); !strings.Contains(fields, `"f:a"`) {
			t.Errorf("%s: %v; %s owns %s", when, owners(u), owner, fields)
		}
	}
	if status, out := s.give(t, "cm/moves", "--from-inventory=kustomization/argocd/apps", "--to-release=argocd/old"); status != 2 && status != 1 || !strings.Contains(out, "no inventory yet") {
		t.Errorf("from an empty inventory: exit status %d:\n%s", status, out)
	}
	if status, out := s.give(t, "cm/stays-x", "--from-release=argocd/other", "--to-release=argocd/old"); status == 0 || !strings.Contains(unfolded(out), "Helm release argocd/other not found, and the object does not carry its marks") {
		t.Errorf("from a release that does not exist: exit status %d:\n%s", status, out)
	}

	toFlux := []string{"cm/moves", "--from-release=argocd/old", "--to-inventory=kustomization/argocd/apps"}
	before := content(t, s.get(t, configMaps, "moves"))
	if status, out := s.give(t, append(toFlux, "--dry-run=server")...); status != 0 || !strings.Contains(out, "marked as kustomization/argocd/apps") {
		t.Errorf("dry run: exit status %d:\n%s", status, out)
	}
	if after := content(t, s.get(t, configMaps, "moves")); after != before {
		t.Errorf("the dry run changed it:\n%s\n%s", before, after)
	}
	status, out := s.give(t, toFlux...)
	if status != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), "add it to the source of kustomization/argocd/apps and let it run; then remove it from the source of Helm release argocd/old") {
		t.Errorf("exit status %d:\n%s", status, out)
	}
	flux := map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "argocd"}
	check("moved to Flux", flux, map[string]string{"helm.sh/resource-policy": "keep"}, "kustomize-controller Apply")
	h.Run(t, "upgrade", "old", folder(t, s, text), "-n", s.namespace)
	s.apply(t, "flux", "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: apps}, status: {inventory: {entries: [{id: argocd_moves__ConfigMap, v: v1}]}}}")
	if status, out := s.give(t, toFlux...); status != 0 || strings.Contains(out, "not finished") {
		t.Errorf("exit status %d:\n%s", status, out)
	}
	check("finished", flux, nil, "kustomize-controller Apply")

	s.update(t, configMaps, "moves", "kubectl-edit", `{"metadata": {"annotations": {"kustomize.toolkit.fluxcd.io/ssa": "Merge"}}}`)
	if status, out := s.give(t, "cm/moves", "--from-inventory=kustomization/argocd/apps", "--to-inventory=application/argocd/shop"); status != 0 {
		t.Errorf("exit status %d:\n%s", status, out)
	}
	// Argo CD would delete an object with its mark that is not in its source, so its next sync adds the mark.
	check("moved to Argo CD", nil, map[string]string{"kustomize.toolkit.fluxcd.io/prune": "disabled", "kustomize.toolkit.fluxcd.io/ssa": "Merge"}, "argocd-controller Apply")
}

// Only an object whose move has begun has something left to do in the sources, and a receiver that does
// not exist is named as such.
func TestMoveOfWhatCannotMove(t *testing.T) {
	s := newSite(t, "cannot-move")
	h := chart.NewHelm(t, s.KubeconfigPath)
	text := strings.ReplaceAll(stays, "NAME", "x")
	h.Run(t, "install", "old", folder(t, s, text+moved), "-n", s.namespace)
	s.apply(t, "someone", "{apiVersion: v1, kind: ConfigMap, metadata: {name: apart}}")
	move := []string{"--from-release=cannot-move/old", "--to-release=cannot-move/next", "--allow-new"}
	status, out := s.give(t, append(move, "cm/apart")...)
	if status != 1 || strings.Contains(out, "not finished") || !strings.Contains(out, "belongs to no tool or set, and neither to") {
		t.Errorf("an object of neither: exit status %d:\n%s", status, out)
	}
	if status, out = s.give(t, append(move, "cm/none")...); status != 2 || strings.Contains(out, "not finished") {
		t.Errorf("no such object: exit status %d:\n%s", status, out)
	}
	status, out = s.give(t, append(move, "cm/moves", "cm/apart")...)
	out = strings.Join(strings.Fields(out), " ")
	if want := "the move of configmap/moves -n cannot-move is not finished: install Helm release cannot-move/next, which does not exist yet, with it in its chart"; status != 1 || !strings.Contains(out, want) {
		t.Errorf("a receiver that does not exist: exit status %d:\n%s", status, out)
	}
	s.apply(t, "setup", releaseSecretIn(t, s.namespace, "busy", 3, "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}", "pending-upgrade"))
	status, out = s.give(t, "cm/moves", "--from-release=cannot-move/old", "--to-release=cannot-move/busy")
	if want := "another operation is in progress: revision 3 is pending-upgrade"; status != 2 || !strings.Contains(out, want) || !strings.Contains(out, "helm history busy -n cannot-move") {
		t.Errorf("a receiver that is being upgraded: exit status %d:\n%s", status, out)
	}
	s.kubectl(t, "", "label", "secret", "-n", s.namespace, "-l", "owner=helm", "name=torn", "--overwrite")
	status, out = s.give(t, "--helm-release=cannot-move/torn", "--from=x")
	if want := "helm get manifest torn -n cannot-move --revision=N |"; status != 2 || !strings.Contains(out, want) {
		t.Errorf("a broken release: exit status %d:\n%s", status, out)
	}
	if status, out = s.give(t, "--helm-release=cannot-move/none", "--from=x"); status != 2 || !strings.Contains(out, "use -f with their manifests and --to=helm") {
		t.Errorf("no such release: exit status %d:\n%s", status, out)
	}
}
