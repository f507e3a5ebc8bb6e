package predict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// Edge cases 25 and 26: a list item that the manifest lacks stays, because another manager owns it.
func TestOwnersOfUndeclared(t *testing.T) {
	head := "apiVersion: v1\nkind: Thing\nmetadata:\n  name: a\n"
	live := fieldstest.Read(t, head+"  managedFields:"+
		"\n  - "+fieldstest.Entry("keeps-old", "Update", `{f:spec: {f:ports: {'k:{"port":80}': {.: {}, f:name: {}}}}}`)+
		"\n  - "+fieldstest.Entry("shares-new", "Update", `{f:spec: {f:ports: {'k:{"port":81}': {f:name: {}}}}}`)+
		"\n  - "+fieldstest.Entry("elsewhere", "Update", `{f:spec: {f:replicas: {}}}`)+
		"\nspec: {replicas: 1, ports: [{port: 80, name: http}, {port: 81, name: http}]}")
	manifest := fieldstest.Read(t, head+"spec: {ports: [{port: 81, name: http}]}")
	owners := predict.OwnersOfUndeclared(fieldstest.Entries(t, live), fieldpath.Field("spec", "ports"), manifest)
	if diff := cmp.Diff([]string{"keeps-old (Update)"}, fieldstest.OwnerTexts(owners)); diff != "" {
		t.Error(diff)
	}
}
