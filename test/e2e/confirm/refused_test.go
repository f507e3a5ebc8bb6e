package confirm_test

import (
	"encoding/json"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A refused run with -o json prints a document that says why.
func TestConfirmRefusedIsDocument(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	set := []string{"-n", ns, "-f", e2etest.File(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "1"}}`)}
	const digest = "v2-0123456789abcdef0123456789abcdef"
	r := e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "-o", "json", "--confirm=" + digest}, set...)...).Ends(t, 1)
	var document struct {
		Kind  string
		Error struct{ Message, Hint string }
	}
	if err := json.Unmarshal(r.Stdout.Bytes(), &document); err != nil || document.Error.Message == "" || document.Error.Hint == "" {
		t.Errorf("%v: the document is %+v: %s", err, document, r)
	}
}
