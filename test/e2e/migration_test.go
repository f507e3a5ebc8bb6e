package e2e_test

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A server that serves StorageVersionMigrations rewrites the objects itself (KEP-4192; on by default
// since 1.37). The commands that deprecated prints then work in their order: the CRD that drops the
// version is refused before them, and accepted after them (edge case 7).
func TestStorageVersionMigration(t *testing.T) {
	const gate = "--feature-gates=StorageVersionMigrator=true"
	c := cluster.ForTest(t, cluster.Options{
		Controllers:    true,
		APIServerArgs:  []string{gate, "--runtime-config=storagemigration.k8s.io/v1beta1=true"},
		ControllerArgs: []string{gate},
	})
	const schema = `schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`
	crd := func(versions string) string {
		return e2etest.File(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gears.example.com}, spec: {group: example.com, scope: Namespaced,
  names: {plural: gears, singular: gear, kind: Gear}, versions: [`+versions+`]}}`)
	}
	gear := func(version, teeth string) string {
		return e2etest.File(t, `{apiVersion: example.com/`+version+`, kind: Gear, metadata: {name: big, namespace: default}, spec: {teeth: `+teeth+`}}`)
	}
	apply := func(status int, set string) *e2etest.Run {
		return e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", set, "--await-kinds").Ends(t, status)
	}
	apply(0, crd("{name: v1beta1, served: true, storage: true, "+schema))
	apply(0, gear("v1beta1", "12"))
	apply(0, crd("{name: v1beta1, served: true, storage: false, deprecated: true, "+schema+", {name: v1, served: true, storage: true, "+schema))
	dropped := crd("{name: v1, served: true, storage: true, " + schema)
	apply(1, dropped)

	r := e2etest.Plugin(t, c.KubeconfigPath, "deprecated", "-A").Ends(t, 0)
	command := func(title string) string {
		_, rest, _ := strings.Cut(r.Stdout.String(), "    "+title+": ")
		line, _, _ := strings.Cut(rest, "\n")
		if line == "" {
			t.Fatalf("no line %q: %s", title, r)
		}
		return line
	}
	r.Says(t, `"kind":"StorageVersionMigration"`)
	e2etest.InShell(t, c, command("rewrite them"))
	e2etest.InShell(t, c, command("then"))
	apply(0, dropped)
	apply(1, gear("v1", "13")) // our own entry is at the dropped version
	e2etest.InShell(t, c, command("right after the upgrade"))
	apply(0, gear("v1", "13")).Says(t, "1 configured")
}
