package managedfields_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Edge cases 25 and 26: who keeps an item that the manifest does not state.
func TestOwnersOfUnstated(t *testing.T) {
	head := "apiVersion: v1\nkind: Thing\nmetadata:\n  name: a\n"
	live := read(t, head+"  managedFields:"+
		"\n  - "+entry("keeps-old", "Update", `{f:spec: {f:ports: {'k:{"port":80}': {.: {}, f:name: {}}}}}`)+
		"\n  - "+entry("shares-new", "Update", `{f:spec: {f:ports: {'k:{"port":81}': {f:name: {}}}}}`)+
		"\n  - "+entry("elsewhere", "Update", `{f:spec: {f:replicas: {}}}`)+
		"\nspec: {replicas: 1, ports: [{port: 80, name: http}, {port: 81, name: http}]}")
	manifest := read(t, head+"spec: {ports: [{port: 81, name: http}]}")
	owners := managedfields.OwnersOfUnstated(entries(t, live), managedfields.Field("spec", "ports"), manifest)
	if diff := cmp.Diff([]string{"keeps-old (Update)"}, ownerTexts(owners)); diff != "" {
		t.Error(diff)
	}
}
