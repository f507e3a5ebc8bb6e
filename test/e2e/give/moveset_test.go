package give_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/test/chart"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
)

// setStory is a move between a Helm release and a set, with what both tools run afterwards.
type setStory struct {
	*site
	helm *chart.Helm
	uids string
}

func newSetStory(t *testing.T, namespace string) *setStory {
	t.Helper()
	s := newSite(t, namespace)
	return &setStory{site: s, helm: chart.NewHelm(t, s.KubeconfigPath)}
}

// source returns the manifests of a tool, with or without the objects that move.
func source(name string, has bool) string {
	text := strings.ReplaceAll(stays, "NAME", name)
	if has {
		text += moved
	}
	return text
}

// set applies the manifests of the set, and prunes.
func (s *setStory) set(t *testing.T, has bool) (status int, out string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "set.yaml")
	if err := os.WriteFile(file, []byte(source("set", has)), 0o600); err != nil {
		t.Fatal(err)
	}
	return s.plugin(t, "apply", "-f", file, "--apply-set=shop", "--prune", "--yes", "--wait=false")
}

func (s *setStory) upgrade(t *testing.T, has bool) error {
	t.Helper()
	_, err := s.helm.Try(t.Context(), "upgrade", "web", folder(t, s.site, source("helm", has)), "-n", s.namespace)
	return err
}

func (s *setStory) same(t *testing.T, when string) {
	t.Helper()
	if got := s.site.uids(t); got != s.uids {
		t.Fatalf("%s: the objects are %s, want %s", when, got, s.uids)
	}
}

func (s *setStory) must(t *testing.T, when string, status int, out string) {
	t.Helper()
	if status != 0 {
		t.Errorf("%s: exit status %d:\n%s", when, status, out)
	}
}

// A move from a Helm release to a set that is killed after any of its writes loses no object,
// whichever tool runs first, and recreates none. Not even a prune deletes the objects while the
// manifests of the set lack them.
func TestMoveToSetKilledAfterEachWrite(t *testing.T) {
	t.Setenv("KUBECTL_APPLYSET", "true")
	type story struct {
		kill             int
		oldFirst, client bool
	}
	var stories []story
	for kill := 2; kill <= 7; kill++ { // Two objects, three writes each. With 7, no write is cut off.
		for _, oldFirst := range []bool{true, false} {
			for _, client := range []bool{false, true} {
				stories = append(stories, story{kill, oldFirst, client})
			}
		}
	}
	step := circle.Of(5, 1, 1)
	for i := 0; i < len(stories); i += step {
		at := stories[i]
		t.Run(fmt.Sprintf("%+v", at), func(t *testing.T) {
			s := newSetStory(t, fmt.Sprintf("to-set-%d", i))
			s.helm.Run(t, "install", "web", folder(t, s.site, source("helm", true)), "-n", s.namespace, fmt.Sprintf("--server-side=%t", !at.client))
			status, out := s.set(t, false)
			s.must(t, "the set is made", status, out)
			s.uids = s.site.uids(t)
			move := []string{"give", "deploy/web", "configmap/moves", "--from-release=" + s.namespace + "/web", "--to-set=secret/shop"}
			s.killed(t, at.kill, move...)
			status, out = s.set(t, false)
			s.must(t, "the set is applied without the objects", status, out)
			s.same(t, "the set was applied without the objects")
			s.kubectl(t, source("set", false), "apply", "--server-side", "--force-conflicts", "--prune", "--applyset=secret/shop", "-f", "-")
			s.same(t, "kubectl, which honours no annotation, has pruned the set")
			if at.kill <= 4 { // The second object was not protected yet, so the old chart still has it.
				status, out := s.plugin(t, move...)
				s.must(t, "repeated", status, out)
				if !strings.Contains(out, "is not finished") {
					t.Errorf("repeated:\n%s", out)
				}
			}
			joins := func() {
				t.Helper()
				if status, out := s.set(t, true); status != 0 && (at.kill <= 4 || at.kill == 7) {
					t.Errorf("the set: exit status %d:\n%s", status, out)
				}
			}
			leaves := func() {
				t.Helper()
				if err := s.upgrade(t, false); err != nil {
					t.Error(err)
				}
			}
			if at.oldFirst {
				leaves()
				s.same(t, "the release was upgraded")
				joins()
			} else {
				joins()
				s.same(t, "the set was applied")
				leaves()
			}
			s.same(t, "both tools ran")
			for range 2 { // Before, the set could not apply what still belonged to the release.
				status, out := s.plugin(t, move...)
				s.must(t, "repeated", status, out)
				status, out = s.set(t, true)
				s.must(t, "the set", status, out)
			}
			if status, out := s.plugin(t, move...); status != 0 || strings.Contains(out, "is not finished") {
				t.Errorf("at the end: exit status %d:\n%s", status, out)
			}
			s.each(t, func(name string, u *unstructured.Unstructured) {
				if u.GetAnnotations()["helm.sh/resource-policy"] != "" || u.GetLabels()["applyset.kubernetes.io/part-of"] == "" || u.GetLabels()["app.kubernetes.io/managed-by"] != "" {
					t.Errorf("%s: %v, %v", name, u.GetLabels(), u.GetAnnotations())
				}
			})
			leaves()
			s.helm.Run(t, "uninstall", "web", "-n", s.namespace)
			s.same(t, "the release was uninstalled")
			status, out = s.set(t, false)
			s.must(t, "the set without the objects", status, out)
			s.gone(t)
		})
	}
}

// The same from a set to a Helm release. Once an object moves, an apply of the set refuses it.
func TestMoveFromSetKilledAfterEachWrite(t *testing.T) {
	type story struct {
		kill     int
		oldFirst bool
	}
	var stories []story
	for kill := 2; kill <= 5; kill++ { // Two objects, two writes each. With 5, no write is cut off.
		for _, oldFirst := range []bool{true, false} {
			stories = append(stories, story{kill, oldFirst})
		}
	}
	step := circle.Of(3, 1, 1)
	for i := 0; i < len(stories); i += step {
		at := stories[i]
		t.Run(fmt.Sprintf("%+v", at), func(t *testing.T) {
			s := newSetStory(t, fmt.Sprintf("from-set-%d", i))
			s.helm.Run(t, "install", "web", folder(t, s.site, source("helm", false)), "-n", s.namespace)
			status, out := s.set(t, true)
			s.must(t, "the set is made", status, out)
			s.uids = s.site.uids(t)
			move := []string{"give", "deploy/web", "configmap/moves", "--from-set=shop", "--to-release=" + s.namespace + "/web"}
			s.killed(t, at.kill, move...)
			if status, out := s.set(t, true); status == 0 || !strings.Contains(out, "it belongs to Helm release") {
				t.Errorf("the set with the objects: exit status %d:\n%s", status, out)
			}
			s.same(t, "the set was applied with the objects")
			if at.kill <= 3 { // The second object still belonged to the set.
				status, out := s.plugin(t, move...)
				s.must(t, "repeated", status, out)
				if !strings.Contains(strings.Join(strings.Fields(out), " "), "remove them from the manifests of the set secret/shop -n "+s.namespace+" before its next apply") {
					t.Errorf("repeated:\n%s", out)
				}
			}
			joins := func() {
				t.Helper()
				if err := s.upgrade(t, true); err != nil && at.kill != 4 {
					t.Error(err)
				}
			}
			leaves := func() {
				t.Helper()
				status, out := s.set(t, false)
				s.must(t, "the set without the objects", status, out)
			}
			if at.oldFirst {
				leaves()
				s.same(t, "the set was applied")
				joins()
			} else {
				joins()
				s.same(t, "the release was upgraded")
				leaves()
			}
			s.same(t, "both tools ran")
			for range 2 {
				status, out := s.plugin(t, move...)
				s.must(t, "repeated", status, out)
				if err := s.upgrade(t, true); err != nil {
					t.Error(err)
				}
			}
			if status, out := s.plugin(t, move...); status != 0 || strings.Contains(out, "is not finished") {
				t.Errorf("at the end: exit status %d:\n%s", status, out)
			}
			s.each(t, func(name string, u *unstructured.Unstructured) {
				if u.GetLabels()["applyset.kubernetes.io/part-of"] != "" || u.GetAnnotations()["meta.helm.sh/release-name"] != "web" || strings.Contains(fmt.Sprint(owners(u)), "k8sconnect") {
					t.Errorf("%s: %v, %v, %v", name, u.GetLabels(), u.GetAnnotations(), owners(u))
				}
			})
			leaves()
			s.same(t, "the set was applied again")
			if err := s.upgrade(t, false); err != nil {
				t.Error(err)
			}
			s.gone(t)
		})
	}
}

func (s *setStory) each(t *testing.T, do func(name string, u *unstructured.Unstructured)) {
	t.Helper()
	for name, kind := range movedKinds() {
		do(name, s.get(t, kind, name))
	}
}

// gone checks that the new owner has deleted the objects, which left its source.
func (s *setStory) gone(t *testing.T) {
	t.Helper()
	if _, err := s.of(configMaps).Get(t.Context(), "moves", metav1.GetOptions{}); err == nil {
		t.Error("the new owner does not delete the objects that leave its source")
	}
}

// A set that does not exist receives an object only with --allow-new, because its name is probably misspelt.
func TestMoveToMisspeltSet(t *testing.T) {
	s := newSetStory(t, "misspelt-set")
	s.helm.Run(t, "install", "web", folder(t, s.site, source("helm", true)), "-n", s.namespace)
	status, out := s.set(t, false)
	s.must(t, "the set is made", status, out)
	move := []string{"give", "configmap/moves", "--from-release=" + s.namespace + "/web", "--to-set=shpo"}
	before := s.get(t, configMaps, "moves").GetResourceVersion()
	status, out = s.plugin(t, move...)
	if out = unfolded(out); status != 2 || !strings.Contains(out, "the set secret/shpo -n misspelt-set does not exist") || !strings.Contains(out, "add --allow-new") {
		t.Errorf("exit status %d:\n%s", status, out)
	}
	if after := s.get(t, configMaps, "moves").GetResourceVersion(); after != before {
		t.Error("a refused move has written")
	}
	status, out = s.plugin(t, append(move, "--allow-new")...)
	if want := "apply the set secret/shpo -n misspelt-set, which does not exist yet, with it in its manifests"; status != 0 || !strings.Contains(unfolded(out), want) {
		t.Errorf("exit status %d:\n%s", status, out)
	}
}
