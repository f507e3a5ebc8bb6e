package give_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// However the source and the receiver wrote before, give with the receiver's manifest either settles
// the receiver's next apply or exits with another status than 0. The API server judges the apply.
// The source may be the receiver itself (edge case 7).
func TestGiveSettlesTheNextApply(t *testing.T) {
	s := newSite(t, "settles")
	const next = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {mode: fast, own: '1'}}"
	write := map[string]func(manager, data string){
		"Apply": func(manager, data string) {
			s.apply(t, manager, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: "+data+"}")
		},
		"Update": func(manager, data string) {
			s.update(t, configMaps, "settings", manager, `{"data": `+data+`}`)
		},
	}
	contested := func() bool {
		t.Helper()
		raw, err := yaml.YAMLToJSON([]byte(next))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.of(configMaps).Patch(t.Context(), "settings", "application/apply-patch+yaml", raw, metav1.PatchOptions{FieldManager: "helm", DryRun: []string{metav1.DryRunAll}})
		if err != nil && !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
		return err != nil
	}
	operations := [][]string{nil, {"Apply"}, {"Update"}, {"Apply", "Update"}}
	var settled, refused int
	for _, source := range []string{"edit", "helm"} {
		for _, theirs := range operations[1:] {
			for _, ours := range operations {
				for _, how := range []string{
					"--from=edit", "--from=helm", "--from=edit,helm", "--from=edit --as-operation=apply", "--from=helm --as-operation=apply",
					"--from=edit --share", ".data.mode --from=edit", ".data.mode --from=helm",
				} {
					if source == "helm" && (ours != nil || strings.Contains(how, "edit")) {
						continue // The receiver's own entries are theirs.
					}
					_ = s.of(configMaps).Delete(t.Context(), "settings", metav1.DeleteOptions{})
					s.apply(t, "creator", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, labels: {a: b}}}")
					for _, op := range ours {
						write[op]("helm", `{"own": "`+op+`"}`)
					}
					for _, op := range theirs {
						write[op](source, `{"mode": "slow-`+op+`"}`)
					}
					before := contested()
					args := []string{"-f", file(t, next), "--to=helm"}
					status, out := s.give(t, append(args, strings.Fields(how)...)...)
					after := contested()
					name := fmt.Sprintf("%s by %v, helm by %v: give %s", source, theirs, ours, how)
					switch {
					case status == 0 && after:
						t.Errorf("%s: exit status 0, but the next apply conflicts:\n%s", name, out)
					case status == 0 && before:
						settled++
					case status != 0 && before && after:
						refused++
					case status != 0 && !after && !strings.Contains(how, " "):
						t.Errorf("%s: exit status %d, but the next apply has no conflict:\n%s", name, status, out)
					}
				}
			}
		}
	}
	t.Logf("%d settled, %d refused", settled, refused)
	if settled < 10 || refused < 10 {
		t.Error("too few cases of some kind: the test proves nothing")
	}
}

// An entry of Helm's updates alone moves to what Helm applies, because Helm's release is applied.
func TestGiveFromHelmToItself(t *testing.T) {
	s := newSite(t, "itself")
	s.kubectl(t, "", "create", "configmap", "settings", "--from-literal=mode=slow", "--field-manager=helm")
	status, out := s.give(t, "cm/settings", ".data.mode", "--from=helm", "--to=helm")
	if status != 1 || !strings.Contains(out, "use --as-operation=apply") {
		t.Errorf("without a manifest: exit status %d:\n%s", status, out)
	}
	const next = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {mode: fast}}"
	status, out = s.give(t, "-f", file(t, next), "--from=helm", "--to=helm")
	if status != 0 || !strings.Contains(out, "1 conflict before, none after") {
		t.Errorf("with a manifest: exit status %d:\n%s", status, out)
	}
	s.kubectl(t, next, "apply", "--server-side", "--field-manager=helm", "-f", "-")
}

func file(t *testing.T, manifest string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "next.yaml")
	if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
